import { Console } from 'node:console'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { Policy, Tool, Toolbox } from '../tools/index.ts'
import { isToolbox } from '../tools/index.ts'
import { importFile } from './modules.ts'

const op = 'millrace'

/** What a module gives an agent: tools, and what they may do. */
export interface ToolsFile {
  readonly tools: readonly (Tool | Toolbox)[]
  readonly permission: Policy | undefined
}

/**
 * The tools and toolboxes that a module exports: a list, or one, as its default; else each named export that is one. Its export
 * `permission` is the rules for them. Throws `invalid_input` if there are none, or if something in the list is none.
 */
export async function toolsFrom(file: string | undefined): Promise<ToolsFile> {
  if (file === undefined) return { tools: [], permission: undefined }
  // What a tool prints is no part of the answer.
  globalThis.console = new Console(process.stderr)
  const { default: main, permission, ...named } = await importFile(file, '--tools')
  if (permission !== undefined && !isPolicy(permission))
    throw invalidInput(
      op,
      `--tools: the export permission of ${file} must be what permission({ … }) has made`,
    )
  // Rules that nobody finds would leave the tools without any.
  const lost = Object.entries(named).find(([, value]) => isPolicy(value))
  if (lost && permission === undefined)
    throw invalidInput(
      op,
      `--tools: ${file} exports its rules as ${lost[0]}, where they are not looked for: write export { ${lost[0]} as permission }`,
    )
  if (main === undefined)
    for (const [name, value] of Object.entries(named)) refusePromise(value, `the export ${name} of ${file}`)
  const tools = main === undefined ? Object.values(named).filter(isUsable) : listed(main, file)
  if (tools.length === 0)
    throw invalidInput(op, `--tools: ${file} exports no tools: write export default [tool({ … })]`)
  const names = tools.flatMap((one) => (isToolbox(one) ? one.tools : [one])).map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice) throw invalidInput(op, `--tools: ${file} has two tools named '${twice}': give each its own name`)
  return { tools, permission }
}

function listed(main: unknown, file: string): (Tool | Toolbox)[] {
  const list: readonly unknown[] = Array.isArray(main) ? main : [main]
  return list.map((one, index) => {
    if (isUsable(one)) return one
    const which = Array.isArray(main) ? `item ${index + 1} of the default export` : 'the default export'
    refusePromise(one, `${which} of ${file}`)
    const what = isObject(one) && typeof one.name === 'string' ? `an object (${one.name})` : kindOf(one)
    throw invalidInput(
      op,
      `--tools: ${which} of ${file} is ${what}, not what tool({ … }) has made: wrap it in tool()`,
    )
  })
}

/** An MCP server that nobody waited for: its tools would be missing without a word. */
function refusePromise(value: unknown, what: string): void {
  if (!(value instanceof Promise)) return
  value.catch(() => {})
  throw invalidInput(op, `--tools: ${what} is a promise: await it there, as in await mcp({ … })`)
}

function isPolicy(value: unknown): value is Policy {
  return isObject(value) && typeof value.judge === 'function'
}

function isUsable(value: unknown): value is Tool | Toolbox {
  return isTool(value) || (isToolbox(value) && value.tools.every(isTool))
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
