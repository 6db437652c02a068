import type { ReadStream } from 'node:tty'
import type { Key } from './keys.ts'
import { keyReader } from './keys.ts'

/** A terminal sends the keys of a sequence at once: after this long, an ESC stands for itself. */
const escapeMs = 100

export interface Keyboard {
  /** Gives the terminal back, as it was. */
  close(): void
}

/** Takes every key as it is pressed: no line is waited for, nothing is echoed, and Ctrl-C is a key like any other. */
export function openKeyboard(
  input: ReadStream,
  { onKey, onEnd }: { onKey: (key: Key) => void; onEnd: () => void },
): Keyboard {
  const reader = keyReader()
  let waiting: NodeJS.Timeout | undefined
  let open = true
  let isFirst = true

  function pass(keys: readonly Key[]) {
    for (const key of keys) if (open) onKey(key)
  }

  function hear(chunk: string) {
    clearTimeout(waiting)
    pass(reader.push(isFirst ? asTyped(chunk) : chunk))
    isFirst = false
    if (open && reader.waits) waiting = setTimeout(() => pass(reader.flush()), escapeMs)
  }

  input.setRawMode(true)
  input.setEncoding('utf8')
  input.on('data', hear)
  input.on('end', onEnd)
  input.resume()

  return {
    close() {
      if (!open) return
      open = false
      clearTimeout(waiting)
      input.off('data', hear)
      input.off('end', onEnd)
      input.pause()
      if (!input.destroyed) input.setRawMode(false)
    },
  }
}

/** What was typed before we listen went through the terminal's own line editor, which makes a newline of every Enter. */
function asTyped(first: string): string {
  return first.includes('\r') ? first : first.replaceAll('\n', '\r')
}
