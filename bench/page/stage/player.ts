import '../../../packages/inspector/styles/base.css'
import type { Player } from './contract.ts'

/** Scrolls, and stays at its end, as a chat does. */
export const box = document.createElement('main')
box.style.cssText = 'height: 100vh; overflow-y: auto'
document.body.append(box)

/** Makes the page a player. `show` shows a few more pieces. */
export function player(show: (pieces: readonly string[]) => void): void {
  let pieces: readonly string[] = []
  const made: Player = {
    load(all) {
      pieces = all
    },
    play: ({ from, to, perFrame }) =>
      new Promise((resolve) => {
        let at = from
        function frame() {
          if (at >= to) return resolve()
          const next = Math.min(at + perFrame, to)
          show(pieces.slice(at, next))
          at = next
          // Reading the height forces a layout.
          box.scrollTop = box.scrollHeight
          requestAnimationFrame(frame)
        }
        requestAnimationFrame(frame)
      }),
  }
  Object.assign(window, made)
}
