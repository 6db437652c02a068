/** So many stand below something that is opened, so that whatever is opened costs the same. */
const most = 100

/** The keys of something: each by itself if they are few, and otherwise parts of them that can be opened in turn. */
export function partsOf(keys: readonly string[]): (readonly string[])[] {
  let size = 1
  while (keys.length / size > most) size *= most
  return Array.from({ length: Math.ceil(keys.length / size) }, (_, part) =>
    keys.slice(part * size, (part + 1) * size),
  )
}
