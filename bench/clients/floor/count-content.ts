import type { Listener } from '../../contract.ts'

const opening = '"content":"'

/**
 * Reports how much of the string `content` has arrived, from the new piece alone. Relies on the
 * shape of the arguments.
 */
export function countContent(listener: Listener): (piece: string) => void {
  let head = ''
  let inside = false
  let chars = 0
  /** Missing characters of an escape sequence, which counts as one. */
  let pending = 0

  return (piece) => {
    let rest = piece
    if (!inside) {
      head += piece
      const at = head.indexOf(opening)
      if (at < 0) return
      inside = true
      rest = head.slice(at + opening.length)
    }
    for (const char of rest) {
      if (pending === -1) {
        pending = char === 'u' ? 4 : 0
        chars++
      } else if (pending > 0) pending--
      else if (char === '\\') pending = -1
      else if (char === '"') break
      else chars++
    }
    listener.partial(chars)
  }
}
