import type { Agent } from '../agent/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import { importFile } from './modules.ts'

const op = 'millrace'

/**
 * Loads the agents of a module. Its default export is an agent or a record of agents; without one,
 * every named export that is an agent counts, under its name. The first agent is the default for
 * new threads; named exports come in alphabetical order. Throws `invalid_input` if the module
 * exports no agents.
 */
export async function agentsFrom(file: string, command: string): Promise<Readonly<Record<string, Agent>>> {
  const { default: main, ...named } = await importFile(file, command)
  if (main === undefined) {
    const agents = Object.entries(named).filter((entry): entry is [string, Agent] => isAgent(entry[1]))
    return notEmpty(Object.fromEntries(agents), file, command)
  }
  if (isAgent(main)) return { [main.name]: main }
  if (!isObject(main))
    throw invalidInput(
      op,
      `${command}: the default export of ${file} must be an agent or a record of agents, not ${kindOf(main)}`,
    )
  for (const [name, value] of Object.entries(main))
    if (!isAgent(value))
      throw invalidInput(
        op,
        `${command}: '${name}' in the default export of ${file} must be an agent made with agent({ … }), not ${kindOf(value)}`,
      )
  return notEmpty(main as Record<string, Agent>, file, command)
}

function notEmpty(agents: Record<string, Agent>, file: string, command: string): Record<string, Agent> {
  if (Object.keys(agents).length === 0)
    throw invalidInput(op, `${command}: ${file} exports no agents: add export default agent({ … })`)
  return agents
}

function isAgent(value: unknown): value is Agent {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    [value.stream, value.resume, value.asTool].every((part) => typeof part === 'function')
  )
}
