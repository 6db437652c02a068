import { isObject, MillraceError, messageOf } from '../../protocol/index.ts'

// Result codes of SQLite (https://sqlite.org/rescode.html). The low byte is the kind, the rest says more.
const busy = 5
const locked = 6
const readOnly = 8
const ioError = 10
const corrupt = 11
const full = 13
const cannotOpen = 14
const protocol = 15
const tooBig = 18
const notADatabase = 26

function resultCode(error: unknown): number | undefined {
  return isObject(error) && typeof error.errcode === 'number' ? error.errcode : undefined
}

/** Somebody else is writing, or has just begun or ended using the file: it passes. */
export function isBusy(error: unknown): boolean {
  const kind = (resultCode(error) ?? 0) & 0xff
  return kind === busy || kind === locked || kind === protocol
}

export function isDamage(error: unknown): boolean {
  const kind = (resultCode(error) ?? 0) & 0xff
  return kind === corrupt || kind === notADatabase
}

/** What is wrong with the file, and what to do. An error of ours stays as it is. */
export function failure(error: unknown, { op, path }: { op: string; path: string }): MillraceError {
  if (error instanceof MillraceError) return error
  return new MillraceError({
    op,
    code: 'store_error',
    message: sentence(error, `'${path}'`),
    retryable: isBusy(error),
    cause: error,
  })
}

function sentence(error: unknown, file: string): string {
  const code = resultCode(error)
  switch ((code ?? 0) & 0xff) {
    case busy:
    case locked:
    case protocol:
      return `${file} is locked: another process has been writing to it all the time. See which one has it open, and whether it hangs`
    case readOnly:
      return `${file} cannot be written to: let this user write to the file and to its folder, or choose another path`
    case full:
      return `the disk with ${file} is full and nothing was written: make room, then try again`
    case ioError:
      return `the disk with ${file} does not read or write (SQLite's code ${code}): see whether it is full, over a quota or broken`
    case corrupt:
      return damaged(file, messageOf(error))
    case notADatabase:
      return `${file} is not an SQLite database, or its beginning was overwritten: choose another path, or restore it from a copy`
    case cannotOpen:
      return `${file} cannot be opened: see whether its folder exists and this user may read and write there`
    case tooBig:
      return `an event is larger than ${file} can hold (a gigabyte)`
    default:
      return `${file} cannot be used: ${messageOf(error)}`
  }
}

/** `file` is the database itself, or one of those that SQLite keeps beside it. */
export function moved(path: string, file: string): MillraceError {
  const what = `'${file}' was moved, deleted or replaced while it was in use, and nothing was written`
  const message =
    file === path
      ? `${what}: put it back, or open the store anew`
      : `${what}. What '${path}' does not hold itself is lost with it: end all processes that use the store, then open it anew`
  return new MillraceError({ op: 'store.write', code: 'store_error', message })
}

export function damaged(file: string, what: string): string {
  return `${file} is damaged (${what}): restore it from a copy, or save what can be read with the command: sqlite3 ${file} .recover`
}
