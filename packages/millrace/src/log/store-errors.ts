import { MillraceError } from '../protocol/index.ts'

// Errors that all stores report in the same words.

export function threadNotFound(op: string, threadId: string): MillraceError {
  return new MillraceError({ op, code: 'not_found', message: `there is no thread '${threadId}'` })
}

export function storeClosed(op: string): MillraceError {
  return new MillraceError({ op, code: 'store_error', message: 'the store is closed: open a new one' })
}

export function badLog(op: string, problem: string): MillraceError {
  return new MillraceError({
    op,
    code: 'store_error',
    message: `a thread cannot start with these entries: ${problem}`,
  })
}

export function badFork(
  op: string,
  threadId: string,
  { at, head }: { readonly at: number; readonly head: number },
): MillraceError {
  const message = `thread '${threadId}' cannot be forked at ${at}: its log ends at ${head}`
  return new MillraceError({ op, code: 'invalid_input', message })
}

export function badBatch(threadId: string, number: number, last: number): MillraceError {
  const message = `batch ${number} of thread '${threadId}' cannot be written: the last one was ${last}`
  return new MillraceError({ op: 'store.append', code: 'store_error', message })
}

function badCursor(op: string, cursor: string): MillraceError {
  return new MillraceError({
    op,
    code: 'invalid_input',
    message: `'${cursor.slice(0, 40)}' is not a valid cursor: pass the 'next' of the previous page`,
  })
}

/**
 * A page's cursor is the place of its last thread in the order of changes. Without a cursor, the
 * first page is meant.
 */
export function placeOfCursor(op: string, cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor(op, cursor)
  return Number(cursor)
}
