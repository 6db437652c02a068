import { Console } from 'node:console'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { importFile } from './modules.ts'

const op = 'millrace'

/**
 * The tools that a module exports: a list, or one, as its default; else each named export that is a tool. Throws `invalid_input` if
 * there are none, or if something in the list is none.
 */
export async function toolsFrom(file: string | undefined): Promise<readonly Tool[]> {
  if (file === undefined) return []
  // What a tool prints is no part of the answer.
  globalThis.console = new Console(process.stderr)
  const { default: main, ...named } = await importFile(file, '--tools')
  const tools = main === undefined ? Object.values(named).filter(isTool) : listed(main, file)
  if (tools.length === 0)
    throw invalidInput(op, `--tools: ${file} exports no tools: write export default [tool({ … })]`)
  const names = tools.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice) throw invalidInput(op, `--tools: ${file} has two tools named '${twice}': give each its own name`)
  return tools
}

function listed(main: unknown, file: string): Tool[] {
  const list: readonly unknown[] = Array.isArray(main) ? main : [main]
  return list.map((one, index) => {
    if (isTool(one)) return one
    const which = Array.isArray(main) ? `item ${index + 1} of the default export` : 'the default export'
    const what = isObject(one) && typeof one.name === 'string' ? `an object (${one.name})` : kindOf(one)
    throw invalidInput(
      op,
      `--tools: ${which} of ${file} is ${what}, not what tool({ … }) has made: wrap it in tool()`,
    )
  })
}

function isTool(value: unknown): value is Tool {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    typeof value.run === 'function' &&
    isObject(value.schema) &&
    isObject(value.inputSchema)
  )
}
