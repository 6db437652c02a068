import type { Agent } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import { invalidInput } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'
import { agentsFrom } from './agents-file.ts'
import type { Flags } from './flags.ts'
import { openModel } from './models.ts'
import type { Output } from './output.ts'
import { cleanLine } from './terminal/index.ts'
import { toolsFrom } from './tools-file.ts'

/** The agents to serve: those of a file, or one made of the flags. */
export async function servedAgents(
  file: string | undefined,
  flags: Flags,
  command: string,
): Promise<Readonly<Record<string, Agent>>> {
  if (file === undefined) {
    const { tools, permission } = await toolsFrom(flags.tools)
    const { model } = await openModel(flags.model)
    return { assistant: agent({ name: 'assistant', model, tools, permission, system: flags.system }) }
  }
  const own = (['model', 'system', 'tools'] as const).find((name) => flags[name] !== undefined)
  if (own)
    throw invalidInput(
      'millrace',
      `--${own} is for a server without a file of agents: ${file} says it itself`,
    )
  return agentsFrom(file, command)
}

/** Rejects if the tools of one refuse to work here. */
export async function tellNotices(app: App, output: Output): Promise<void> {
  const notices = await Promise.all(app.agents.map((name) => app.notices(name)))
  for (const notice of new Set(notices.flat())) output.tell(cleanLine(notice))
}
