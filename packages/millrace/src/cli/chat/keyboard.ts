import type { ReadStream } from 'node:tty'
import type { Key } from './keys.ts'
import { keyReader } from './keys.ts'

/** Terminals send an escape sequence at once. After this time, an ESC is the Escape key. */
const escapeMs = 100

export interface Keyboard {
  /** Restores the terminal. */
  close(): void
}

/** Reads keys in raw mode: no line buffering, no echo, and Ctrl-C is a key like any other. */
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

  function onData(chunk: string) {
    clearTimeout(waiting)
    pass(reader.push(isFirst ? asTyped(chunk) : chunk))
    isFirst = false
    if (open && reader.hasPending) waiting = setTimeout(() => pass(reader.flush()), escapeMs)
  }

  input.setRawMode(true)
  input.setEncoding('utf8')
  input.on('data', onData)
  input.on('end', onEnd)
  input.resume()

  return {
    close() {
      if (!open) return
      open = false
      clearTimeout(waiting)
      input.off('data', onData)
      input.off('end', onEnd)
      input.pause()
      if (!input.destroyed) input.setRawMode(false)
    },
  }
}

/** Input typed before raw mode went through the terminal's line editor, which turns Enter into a newline. */
function asTyped(first: string): string {
  return first.includes('\r') ? first : first.replaceAll('\n', '\r')
}
