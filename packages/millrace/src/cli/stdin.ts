import { invalidInput } from '../protocol/index.ts'

/** More than any model reads. Longer input was piped in by mistake. */
const maxBytes = 16 * 2 ** 20
const silenceMs = 3000

/**
 * Reads stdin to its end: waiting is better than half of what a slow program writes. `onSilence` is
 * called once if nothing arrives for some seconds, since a parent process may have left a pipe open
 * that is never written to. Throws `invalid_input` if the input is not UTF-8 text.
 */
export async function textFromStdin({ onSilence }: { readonly onSilence: () => void }): Promise<string> {
  const silence = setTimeout(onSilence, silenceMs)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      clearTimeout(silence)
      bytes += chunk.length
      if (bytes > maxBytes) throw invalidInput('millrace', `stdin is larger than ${maxBytes / 2 ** 20} MB`)
      chunks.push(chunk)
    }
  } catch (error) {
    // A stdin that is closed or is a folder counts as empty.
    if (!['EISDIR', 'EBADF', 'EAGAIN', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error
  } finally {
    clearTimeout(silence)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw invalidInput('millrace', 'stdin is not UTF-8 text')
  }
}

/** The question, a blank line, and the text from stdin. */
export function joinQuestion(question: string, piped: string): string {
  return [question.trim(), piped.trim()].filter((part) => part !== '').join('\n\n')
}
