import { invalidInput } from '../protocol/index.ts'

/** More than any model reads; what is longer was piped in by mistake. */
const mostBytes = 16 * 2 ** 20
const patienceMs = 3000

/**
 * Everything on stdin, to its end: half of what a slow program pipes in is worse than a wait. `onSilence` is called once if nothing
 * comes for some seconds: something may well have left a pipe open that nobody will ever write to. Throws `invalid_input` on what is no text.
 */
export async function textFromStdin({ onSilence }: { readonly onSilence: () => void }): Promise<string> {
  const silence = setTimeout(onSilence, patienceMs)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      clearTimeout(silence)
      bytes += chunk.length
      if (bytes > mostBytes)
        throw invalidInput('millrace', `there are more than ${mostBytes / 2 ** 20} MB on stdin`)
      chunks.push(chunk)
    }
  } catch (error) {
    // A stdin that was closed, or is a folder, has nothing to say.
    if (!['EISDIR', 'EBADF', 'EAGAIN', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error
  } finally {
    clearTimeout(silence)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw invalidInput('millrace', 'what is on stdin is no UTF-8 text')
  }
}

/** The question first, then a blank line, then what was piped in. */
export function joinQuestion(words: string, piped: string): string {
  return [words.trim(), piped.trim()].filter((part) => part !== '').join('\n\n')
}
