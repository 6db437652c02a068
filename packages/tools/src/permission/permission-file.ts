import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PermissionMemory } from 'millrace'
import { isMillraceError, MillraceError } from 'millrace'
import { invalidInput, isObject, kindOf, messageOf } from 'millrace/internal'
import { isCode, withLock } from './file-lock.ts'
import { ruleProblem } from './rule.ts'

const version = 1

/**
 * Stores rules in a JSON file, `{ "version": 1, "rules": [ … ] }`. It is read on every use, so people can
 * edit it, and several processes can share it. An unreadable file is a `store_error` that says what to
 * do, and is never overwritten.
 */
export function permissionFile(path: string | URL): PermissionMemory {
  const file = fileOf(path)
  // A model may see these errors, so they do not contain the absolute path.
  const name = typeof path === 'string' ? path : basename(file)
  return {
    file,
    rules: async () => (await load(file, name)).rules,
    async add(rules) {
      const problem = rules.map(ruleProblem).find((found) => found !== undefined)
      if (problem !== undefined) throw invalidInput('permissionFile.add', problem)
      try {
        await mkdir(dirname(file), { recursive: true, mode: 0o700 })
        // If the lock was lost in the meantime, start over with what others wrote since.
        while (!(await withLock(`${file}.lock`, (held) => addRules(file, name, rules, held))));
      } catch (error) {
        throw failure('permissionFile.add', `'${name}' cannot be written (${causeOf(error)})`, error)
      }
    },
  }
}

/** Returns false if the lock was lost before anything was written. */
async function addRules(
  file: string,
  name: string,
  rules: readonly string[],
  held: () => Promise<boolean>,
): Promise<boolean> {
  const before = await load(file, name)
  const after = [...new Set([...before.rules, ...rules])]
  if (after.length === before.rules.length) return true
  const draft = `${file}.${randomUUID()}.tmp`
  try {
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(`${JSON.stringify({ ...before, version, rules: after }, null, 2)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (!(await held())) return false
    await rename(draft, file)
    return true
  } finally {
    await rm(draft, { force: true })
  }
}

async function load(file: string, name: string): Promise<{ readonly rules: readonly string[] }> {
  const op = 'permissionFile.rules'
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return undefined
    throw failure(op, `'${name}' cannot be read (${causeOf(error)})`, error)
  })
  if (text === undefined) return { rules: [] }
  const unusable = (what: string) =>
    failure(op, `'${name}' ${what}. Fix the file, or delete it to start over; nothing was changed`)
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    throw unusable(`is not JSON (${messageOf(error)})`)
  }
  if (!isObject(content) || !Array.isArray(content.rules))
    throw unusable('does not have the form { "version": 1, "rules": [ … ] }')
  if (content.version !== version)
    throw unusable(`has version ${JSON.stringify(content.version)}, but only version ${version} is supported`)
  const problems = content.rules.map(ruleProblem).filter((problem) => problem !== undefined)
  if (problems.length > 0) throw unusable(`cannot be used: ${problems.join('; ')}`)
  return { ...content, rules: content.rules }
}

/** The code, such as `EACCES`: the message of a system error contains the absolute path. */
function causeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
}

function failure(op: string, message: string, cause?: unknown): MillraceError {
  return isMillraceError(cause) ? cause : new MillraceError({ op, code: 'store_error', message, cause })
}

function fileOf(path: unknown): string {
  const op = 'permissionFile'
  if (path instanceof URL) {
    if (path.protocol === 'file:') return fileURLToPath(path)
    throw invalidInput(op, `the path must be a file: URL, not ${path.protocol}`)
  }
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw invalidInput(
      op,
      `the path must name a file, such as '.millrace/permissions.json', not ${path === '' ? 'empty' : kindOf(path)}`,
    )
  return resolve(path)
}
