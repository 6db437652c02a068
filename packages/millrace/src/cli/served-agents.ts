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

/** The agents of a file, or one configured by the flags. */
export async function agentsToServe(
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
    throw invalidInput('millrace', `--${own} cannot be combined with an agents file: set it in ${file}`)
  return agentsFrom(file, command)
}

/** Prints the notices of all agents' tools. Rejects if a tool cannot work here. */
export async function printNotices(app: App, output: Output): Promise<void> {
  const notices = await Promise.all(app.agents.map((name) => app.notices(name)))
  for (const notice of new Set(notices.flat())) output.note(cleanLine(notice))
}
