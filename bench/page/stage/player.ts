import '../../../packages/inspector/styles/base.css'
import type { Player } from './contract.ts'

/** The box scrolls, and stays at its end, as a chat does. */
export const box = document.createElement('main')
box.style.cssText = 'height: 100vh; overflow-y: auto'
document.body.append(box)

/** Makes the page a player, by what it does to show a few more pieces. */
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
          // Asking for the height has all of it laid out now.
          box.scrollTop = box.scrollHeight
          requestAnimationFrame(frame)
        }
        requestAnimationFrame(frame)
      }),
  }
  Object.assign(window, made)
}
