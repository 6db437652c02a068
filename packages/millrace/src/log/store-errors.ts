import { MillraceError } from '../protocol/index.ts'

// What every store has to say in the same words.

export function threadNotFound(op: string, threadId: string): MillraceError {
  return new MillraceError({ op, code: 'not_found', message: `there is no thread '${threadId}'` })
}

export function storeClosed(op: string): MillraceError {
  return new MillraceError({ op, code: 'store_error', message: 'the store was closed: open a new one' })
}

export function badLog(op: string, problem: string): MillraceError {
  return new MillraceError({
    op,
    code: 'store_error',
    message: `a thread cannot begin with these entries: ${problem}`,
  })
}

export function badFork(
  op: string,
  threadId: string,
  { at, head }: { readonly at: number; readonly head: number },
): MillraceError {
  const message = `the thread '${threadId}' cannot be forked at ${at}: its last number is ${head}`
  return new MillraceError({ op, code: 'invalid_input', message })
}

function badCursor(op: string, cursor: string): MillraceError {
  return new MillraceError({
    op,
    code: 'invalid_input',
    message: `'${cursor.slice(0, 40)}' is no cursor: take the 'next' of the page before`,
  })
}

/** A page's cursor is the place of its last thread in the order of changes; absent for the first page. */
export function placeOfCursor(op: string, cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor(op, cursor)
  return Number(cursor)
}
