import type { Agent } from '../agent/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import { importFile } from './modules.ts'

const op = 'millrace'

/**
 * The agents that a module exports: one, or a record of them, as its default; else each named export that is an agent, under
 * that name. The first is the one for threads that ask for none; of named exports, that is the first by the alphabet. Throws `invalid_input` if there are none.
 */
export async function agentsFrom(file: string, command: string): Promise<Readonly<Record<string, Agent>>> {
  const { default: main, ...named } = await importFile(file, command)
  if (main === undefined) {
    const agents = Object.entries(named).filter((entry): entry is [string, Agent] => isAgent(entry[1]))
    return some(Object.fromEntries(agents), file, command)
  }
  if (isAgent(main)) return { [main.name]: main }
  if (!isObject(main))
    throw invalidInput(
      op,
      `${command}: the default export of ${file} is ${kindOf(main)}, and should be an agent`,
    )
  for (const [name, value] of Object.entries(main))
    if (!isAgent(value))
      throw invalidInput(
        op,
        `${command}: '${name}' of the default export of ${file} is ${kindOf(value)}, not what agent({ … }) has made`,
      )
  return some(main as Record<string, Agent>, file, command)
}

function some(agents: Record<string, Agent>, file: string, command: string): Record<string, Agent> {
  if (Object.keys(agents).length === 0)
    throw invalidInput(op, `${command}: ${file} exports no agents: write export default agent({ … })`)
  return agents
}

function isAgent(value: unknown): value is Agent {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    [value.stream, value.resume, value.asTool].every((part) => typeof part === 'function')
  )
}
