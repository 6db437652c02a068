import { isObject, MillraceError, messageOf } from '../../protocol/index.ts'

// Result codes of SQLite (https://sqlite.org/rescode.html). The low byte is the primary code, the
// rest the extended one.
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

/** Another process is writing, or is opening or closing the file. This is temporary. */
export function isBusy(error: unknown): boolean {
  const kind = (resultCode(error) ?? 0) & 0xff
  return kind === busy || kind === locked || kind === protocol
}

export function isCorruption(error: unknown): boolean {
  const kind = (resultCode(error) ?? 0) & 0xff
  return kind === corrupt || kind === notADatabase
}

/** Describes what is wrong with the file and what to do. Returns our own errors unchanged. */
export function failure(error: unknown, { op, path }: { op: string; path: string }): MillraceError {
  if (error instanceof MillraceError) return error
  return new MillraceError({
    op,
    code: 'store_error',
    message: messageFor(error, `'${path}'`),
    retryable: isBusy(error),
    cause: error,
  })
}

function messageFor(error: unknown, file: string): string {
  const code = resultCode(error)
  switch ((code ?? 0) & 0xff) {
    case busy:
    case locked:
    case protocol:
      return `${file} is locked: another process keeps writing to it. Check which one has it open, and whether it hangs`
    case readOnly:
      return `${file} is read-only: give this user write access to the file and its folder, or choose another path`
    case full:
      return `the disk with ${file} is full and nothing was written: free some space, then try again`
    case ioError:
      return `reading or writing ${file} failed (SQLite error ${code}): check whether the disk is full, over quota or broken`
    case corrupt:
      return damaged(file, messageOf(error))
    case notADatabase:
      return `${file} is not an SQLite database, or its header was overwritten: choose another path, or restore it from a backup`
    case cannotOpen:
      return `${file} cannot be opened: check that its folder exists and that this user can read and write there`
    case tooBig:
      return `an event is larger than ${file} can hold (a gigabyte)`
    default:
      return `${file} cannot be used: ${messageOf(error)}`
  }
}

/** `file` is the database itself, or one of the files that SQLite keeps next to it. */
export function fileMoved(path: string, file: string): MillraceError {
  const what = `'${file}' was moved, deleted or replaced while it was in use, and nothing was written`
  const message =
    file === path
      ? `${what}: put it back, or reopen the store`
      : `${what}. Data that was not yet in '${path}' is lost: stop all processes that use the store, then reopen it`
  return new MillraceError({ op: 'store.write', code: 'store_error', message })
}

export function damaged(file: string, what: string): string {
  return `${file} is damaged (${what}): restore it from a backup, or recover what is readable with: sqlite3 ${file} .recover`
}
