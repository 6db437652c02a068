import type { Agent } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import { invalidInput } from '../protocol/index.ts'
import type { Flags } from './flags.ts'
import { openModel } from './models.ts'

const op = 'millrace'

/** Everything that a client of a model API can send. */
export const gatewayOptions = ['tools', 'system', 'settings', 'toolChoice', 'output'] as const

/**
 * One agent for each model, without tools and without a system prompt: what a client sends is all
 * that the model gets. `--model` lists the models: `a,b` are two, `a|b` is `a` with `b` as its
 * fallback, under the name of `a`.
 */
export async function gatewayAgents(
  file: string | undefined,
  flags: Flags,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Readonly<Record<string, Agent>>> {
  if (file !== undefined)
    throw invalidInput(
      op,
      `--gateway cannot be combined with an agents file: leave out ${file}, or --gateway`,
    )
  const own = (['system', 'tools'] as const).find((name) => flags[name] !== undefined)
  if (own)
    throw invalidInput(
      op,
      `--gateway cannot be combined with --${own}: the clients of a gateway send their own`,
    )
  const given = flags.model ?? env.MILLRACE_MODEL
  const agents: Record<string, Agent> = {}
  for (const list of given?.trim() ? given.split(',') : [undefined]) {
    const written = list?.split('|').map((name) => name.trim())
    if (written?.includes(''))
      throw invalidInput(op, `--model ${given} has an empty name: write it as 'a,b', or 'a|b' for a fallback`)
    const models = await Promise.all((written ?? [undefined]).map((name) => openModel(name, { env })))
    const [first] = models as [(typeof models)[0]]
    const names = namesOf(first.model.id, written?.[0]).filter((name) => !Object.hasOwn(agents, name))
    const [name] = names
    if (name === undefined)
      throw invalidInput(op, `--model has two models named '${first.model.id}': clients could not choose one`)
    const one = agent({
      name,
      description: 'A model without a system prompt and without tools: it gets only what you send.',
      model: models.map(({ model }) => model),
    })
    for (const name of names) agents[name] = one
  }
  return agents
}

/** What clients may call a model: `claude-sonnet-5`, and `anthropic/claude-sonnet-5` if written so. */
function namesOf(id: string, written = id): string[] {
  return /^https?:/i.test(written) ? [id] : [...new Set([id, written])]
}
