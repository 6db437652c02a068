import type { ToolContext } from 'millrace'
import { readLines, utf8Chunks } from './lines.ts'
import { encodingOf } from './text.ts'
import { openResolved, type Workspace } from './workspace.ts'

const maxLineChars = 500

/**
 * The lines with these numbers, formatted for a search result, with some context around each. Undefined
 * if the file no longer exists or may not be read: then the search does not reveal that it matched.
 */
export async function matchingLines(
  workspace: Workspace,
  path: string,
  numbers: readonly number[],
  around: number,
  context: ToolContext,
): Promise<string | undefined> {
  return workspace
    .at(path, async (resolved) => {
      // The path must still be the same file, not a link.
      if (resolved.path !== path || !resolved.stats?.isFile()) return undefined
      const { file } = await openResolved(resolved)
      try {
        if ((await context.checkAccess({ kind: 'read', path })) !== undefined) return undefined
        const head = Buffer.alloc(4)
        const { bytesRead } = await file.read(head, 0, 4, 0)
        const chunks = utf8Chunks(file, encodingOf(head.subarray(0, bytesRead)), context.signal)
        return [path, ...(await pick(chunks, numbers, around))].join('\n')
      } finally {
        await file.close()
      }
    })
    .catch(() => {
      context.signal.throwIfAborted()
      return undefined
    })
}

async function pick(
  chunks: AsyncIterable<Buffer>,
  numbers: readonly number[],
  around: number,
): Promise<string[]> {
  const matching = new Set(numbers)
  const wanted = new Set(numbers.flatMap((number) => span(number - around, number + around)))
  const last = Math.max(...wanted)
  const shown: string[] = []
  let before: number | undefined
  await readLines(chunks, {
    from: Math.max(1, Math.min(...wanted)),
    maxLineBytes: maxLineChars * 4,
    take(number, bytes, whole) {
      if (wanted.has(number)) {
        if (around > 0 && before !== undefined && number > before + 1) shown.push('--')
        before = number
        // Files with invalid UTF-8 are searched too.
        const text = bytes.toString()
        const cut = !whole || text.length > maxLineChars
        shown.push(
          `${number}${matching.has(number) ? ':' : '-'}${cut ? `${text.slice(0, maxLineChars)}… [cut]` : text}`,
        )
      }
      return number < last
    },
  })
  return shown
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
