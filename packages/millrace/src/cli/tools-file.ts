import { Console } from 'node:console'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { Policy, Tool, Toolbox } from '../tools/index.ts'
import { isToolbox } from '../tools/index.ts'
import { importFile } from './modules.ts'

const op = 'millrace'

/** The tools of a module, and their permission rules. */
export interface ToolsFile {
  readonly tools: readonly (Tool | Toolbox)[]
  readonly permission: Policy | undefined
}

/**
 * Loads the tools and toolboxes of a module. Its default export is a tool, a toolbox or a list of
 * them; without one, every named export that is one counts. The export `permission` has the rules for
 * them. Throws `invalid_input` if the module exports no tools, or something else in the list.
 */
export async function toolsFrom(file: string | undefined): Promise<ToolsFile> {
  if (file === undefined) return { tools: [], permission: undefined }
  // What a tool prints is not part of the answer.
  globalThis.console = new Console(process.stderr)
  const { default: main, permission, ...named } = await importFile(file, '--tools')
  if (permission !== undefined && !isPolicy(permission))
    throw invalidInput(op, `--tools: the export 'permission' of ${file} must be made with permission({ … })`)
  // Rules under another name would be ignored, and the tools would have none.
  const misnamed = Object.entries(named).find(([, value]) => isPolicy(value))
  if (misnamed && permission === undefined)
    throw invalidInput(
      op,
      `--tools: ${file} exports its permission rules as '${misnamed[0]}', which is not read: write export { ${misnamed[0]} as permission }`,
    )
  if (main === undefined)
    for (const [name, value] of Object.entries(named)) rejectPromise(value, `the export ${name} of ${file}`)
  const tools = main === undefined ? Object.values(named).filter(isUsable) : toolsFromList(main, file)
  if (tools.length === 0)
    throw invalidInput(op, `--tools: ${file} exports no tools: add export default [tool({ … })]`)
  const names = tools.flatMap((one) => (isToolbox(one) ? one.tools : [one])).map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice) throw invalidInput(op, `--tools: ${file} has two tools named '${twice}': give each its own name`)
  return { tools, permission }
}

function toolsFromList(main: unknown, file: string): (Tool | Toolbox)[] {
  const list: readonly unknown[] = Array.isArray(main) ? main : [main]
  return list.map((one, index) => {
    if (isUsable(one)) return one
    const which = Array.isArray(main) ? `item ${index + 1} of the default export` : 'the default export'
    rejectPromise(one, `${which} of ${file}`)
    const what = isObject(one) && typeof one.name === 'string' ? `an object (${one.name})` : kindOf(one)
    throw invalidInput(op, `--tools: ${which} of ${file} must be made with tool({ … }), not ${what}`)
  })
}

/** A promise, such as an MCP server without `await`, would silently add no tools. */
function rejectPromise(value: unknown, what: string): void {
  if (!(value instanceof Promise)) return
  value.catch(() => {})
  throw invalidInput(op, `--tools: ${what} is a promise: await it, as in await mcp({ … })`)
}

function isPolicy(value: unknown): value is Policy {
  return isObject(value) && typeof value.decide === 'function'
}

function isUsable(value: unknown): value is Tool | Toolbox {
  return isTool(value) || (isToolbox(value) && value.tools.every(isTool))
}

function isTool(value: unknown): value is Tool {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    // Without `run`, a client runs it.
    (value.run === undefined || typeof value.run === 'function') &&
    isObject(value.schema) &&
    isObject(value.inputSchema)
  )
}
