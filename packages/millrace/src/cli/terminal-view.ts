import type { WriteStream } from 'node:tty'
import type { CallView } from '../view/index.ts'
import type { AnswerView } from './answer-view.ts'
import { noteOf } from './notes.ts'
import type { Markdown } from './terminal/index.ts'
import { callLine, deltaCleaner, markdown, painter, screenOn, spinnerAt, style } from './terminal/index.ts'

const frameMs = 100

/** For a terminal: Markdown as it is written, a live line for each call, and something that turns while nothing comes. */
export function terminalView(
  out: WriteStream,
  { color, quiet }: { readonly color: boolean; readonly quiet: boolean },
): AnswerView {
  const screen = screenOn(out)
  const paint = painter(color)
  /** Those that are live. */
  const calls = new Set<CallView>()
  let cleanDelta = deltaCleaner()
  let text: Markdown | undefined
  let said = false
  /** The model has been asked and has not said anything yet. */
  let waiting = false
  let timer: ReturnType<typeof setInterval> | undefined

  function callLines(): string[] {
    const shown = quiet ? [] : [...calls]
    return shown.map((call) => paint(callLine(call, { width: screen.width, now: Date.now() })))
  }

  function draw(above: readonly string[] = []) {
    const lines = callLines()
    const turning = waiting && !quiet && lines.length === 0 ? [paint([spinnerAt(Date.now())])] : []
    screen.show([...(text?.take() ?? []), ...above], [...(text?.live() ?? []), ...lines, ...turning])
  }

  /** What is live becomes part of what was said. */
  function settle() {
    const lines = callLines()
    text?.end()
    const rows = text?.take() ?? []
    text = undefined
    calls.clear()
    screen.show([...rows, ...lines], [])
    said ||= rows.length + lines.length > 0
  }

  /** The terminal has broken the live lines anew. */
  function resized() {
    screen.clear()
    draw()
  }

  function begin() {
    if (timer) return
    timer = setInterval(draw, frameMs).unref()
    out.on('resize', resized)
  }

  function end() {
    clearInterval(timer)
    timer = undefined
    out.off('resize', resized)
    waiting = false
    settle()
  }

  return {
    take(change) {
      const { call, round, retry, run, delta } = change
      begin()
      if (call) calls.add(call)
      if (change.text?.kind === 'text') {
        const words = cleanDelta(delta)
        if (!text && words.trim() && said) screen.show([''], [])
        if (text || words.trim()) {
          text ??= markdown({ width: () => screen.width, colour: color })
          text.push(words)
        }
        waiting &&= !words.trim()
      } else if (retry || round?.retracted) {
        // Words that come again never do so without a line that says why.
        const isShown = !retry && text !== undefined
        settle()
        cleanDelta = deltaCleaner()
        const note = noteOf(change)
        if (note && (isShown || !quiet)) return draw([paint([{ text: note, style: style.dim }])])
      } else if (round) {
        if (!round.end) {
          settle()
          cleanDelta = deltaCleaner()
        }
        waiting = !round.end
      } else if (run?.outcome) return end()
      draw()
    },
    end() {
      end()
      screen.close()
    },
  }
}
