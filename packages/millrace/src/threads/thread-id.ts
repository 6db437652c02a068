import { invalidInput, kindOf } from '../protocol/index.ts'

/** Ids stand in addresses and file names, so they are plain. */
export function checkThreadId(id: unknown, op: string) {
  if (typeof id !== 'string' || !/^(?!\.{1,2}$)[\w.-]{1,128}$/.test(id))
    throw invalidInput(
      op,
      `the id of a thread must be 1 to 128 letters, digits, _, - or ., not ${kindOf(id)} ${JSON.stringify(id)?.slice(0, 80)}`,
    )
}
