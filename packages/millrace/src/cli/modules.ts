import { existsSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { invalidInput, isObject, messageOf } from '../protocol/index.ts'

const op = 'millrace'

/** Imports a module of the user. Throws `invalid_input` with the reason if it cannot be loaded. */
export async function importFile(
  file: string,
  flag: string,
  { typescript = Boolean(process.features.typescript) } = {},
): Promise<Record<string, unknown>> {
  const path = resolve(file)
  if (!existsSync(path)) throw invalidInput(op, `${flag}: file not found: ${file}`)
  if (/^\.[cm]?ts$/.test(extname(path)) && !typescript)
    throw invalidInput(
      op,
      `${flag}: ${file} is TypeScript, which Node ${process.version} cannot run: use Node 22.18 or newer, or JavaScript`,
    )
  try {
    return await import(pathToFileURL(path).href)
  } catch (thrown) {
    throw invalidInput(op, `${flag}: cannot load ${file}: ${reasonOf(thrown)}`, thrown)
  }
}

function reasonOf(thrown: unknown): string {
  const code = isObject(thrown) ? thrown.code : undefined
  const message = messageOf(thrown).replace(/ imported from .*$/s, '')
  if (code === 'ERR_MODULE_NOT_FOUND') return `${message} (is it installed next to the file?)`
  // Node reports the location of a syntax error only in the line before the stack.
  const stack = isObject(thrown) && typeof thrown.stack === 'string' ? thrown.stack : ''
  const [place] = /^file:\/\/\S+:\d+$/m.exec(stack.split('\n', 1)[0] ?? '') ?? []
  return place ? `${message} (${place})` : message
}
