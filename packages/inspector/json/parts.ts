/** The maximum number of items under an expanded node, which bounds the cost of expanding it. */
const most = 100

/** Splits keys into at most `most` parts: single keys if there are few, otherwise ranges. */
export function partsOf(keys: readonly string[]): (readonly string[])[] {
  let size = 1
  while (keys.length / size > most) size *= most
  return Array.from({ length: Math.ceil(keys.length / size) }, (_, part) =>
    keys.slice(part * size, (part + 1) * size),
  )
}
