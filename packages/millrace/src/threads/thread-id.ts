import { invalidInput, kindOf } from '../protocol/index.ts'

/** Ids are used in URLs and file names, so only plain characters are allowed. */
export function checkThreadId(id: unknown, op: string) {
  if (typeof id !== 'string' || !/^(?!\.{1,2}$)[\w.-]{1,128}$/.test(id))
    throw invalidInput(
      op,
      `a thread id must be 1 to 128 letters, digits, _, - or ., not ${kindOf(id)} ${JSON.stringify(id)?.slice(0, 80)}`,
    )
}
