import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The mode of an entry that refers to another repository: gitformat-index(5). */
const gitlink = 0o160000

/** The index of a million files has about 100 MiB. */
const [maxBytes, maxLinks] = [2 ** 28, 50_000]

/** The paths of nested repositories in a repository's index, submodules or not. */
export function gitlinks(git: string): string[] {
  try {
    const files = readdirSync(git).filter((name) => name === 'index' || name.startsWith('sharedindex.'))
    return files
      .map((name) => join(git, name))
      .filter((file) => isIndex(file))
      .flatMap((file) => linksIn(readFileSync(file)).slice(0, maxLinks))
  } catch {
    return []
  }
}

function isIndex(file: string): boolean {
  const stats = lstatSync(file)
  return stats.isFile() && stats.size >= 12 && stats.size <= maxBytes
}

function linksIn(index: Buffer): string[] {
  const mode = Buffer.alloc(4)
  mode.writeUInt32BE(gitlink)
  // Most indexes have none, and an index can have a million entries.
  if (!index.includes(mode)) return []
  // The index does not say which hash it uses. With the wrong size it yields paths that do not
  // exist.
  return [20, 32].flatMap((hashBytes) => [...linksWith(hashBytes, index)])
}

function* linksWith(hashBytes: number, index: Buffer): Generator<string> {
  const [version, count] = [index.readUInt32BE(4), index.readUInt32BE(8)]
  let [at, path] = [12, Buffer.alloc(0)]
  for (let read = 0; read < count; read++) {
    // Times, device, inode, mode, owner and size, then the hash and the flags.
    const flagsAt = at + 40 + hashBytes
    if (flagsAt + 4 > index.length) return
    const isExtended = version >= 3 && (index.readUInt16BE(flagsAt) & 0x4000) !== 0
    let start = flagsAt + (isExtended ? 4 : 2)
    let kept = Buffer.alloc(0)
    if (version === 4) {
      const { value, next } = offsetAt(index, start)
      kept = path.subarray(0, Math.max(0, path.length - value))
      start = next
    }
    const end = index.indexOf(0, start)
    if (end < 0) return
    path = Buffer.concat([kept, index.subarray(start, end)])
    // With the wrong hash size a path may seem empty, which no real path is.
    if (index.readUInt32BE(at + 24) === gitlink && path.length > 0) yield path.toString('utf8')
    // Before version 4, entries are padded to eight bytes with at least one zero byte.
    at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7)
  }
}

/** The offset encoding of pack files: seven bits per byte. */
function offsetAt(bytes: Buffer, at: number): { value: number; next: number } {
  let byte = bytes[at] ?? 0
  let value = byte & 0x7f
  let next = at + 1
  while (byte & 0x80 && next < bytes.length) {
    byte = bytes[next++] ?? 0
    value = ((value + 1) << 7) | (byte & 0x7f)
  }
  return { value, next }
}
