import type { WriteStream } from 'node:tty'
import type { CallView } from '../view/index.ts'
import type { AnswerView } from './answer-view.ts'
import { noteOf } from './notes.ts'
import type { Markdown } from './terminal/index.ts'
import { callLine, deltaCleaner, markdown, painter, screenOn, spinnerAt, style } from './terminal/index.ts'

const frameMs = 100

/** For a terminal: streaming Markdown, a live line for each tool call, and a spinner while waiting. */
export function terminalView(
  out: WriteStream,
  { color, quiet }: { readonly color: boolean; readonly quiet: boolean },
): AnswerView {
  const screen = screenOn(out)
  const paint = painter(color)
  /** Tool calls whose lines are live. */
  const calls = new Set<CallView>()
  let cleanDelta = deltaCleaner()
  let text: Markdown | undefined
  let hasOutput = false
  /** The round has no text yet. */
  let waiting = false
  let timer: ReturnType<typeof setInterval> | undefined

  function callLines(): string[] {
    const shown = quiet ? [] : [...calls]
    return shown.map((call) => paint(callLine(call, { width: screen.width, now: Date.now() })))
  }

  function draw(above: readonly string[] = []) {
    const lines = callLines()
    const spinner = waiting && !quiet && lines.length === 0 ? [paint([spinnerAt(Date.now())])] : []
    screen.show([...(text?.take() ?? []), ...above], [...(text?.live() ?? []), ...lines, ...spinner])
  }

  /** Makes the live lines permanent. */
  function settle() {
    const lines = callLines()
    text?.end()
    const rows = text?.take() ?? []
    text = undefined
    calls.clear()
    screen.show([...rows, ...lines], [])
    hasOutput ||= rows.length + lines.length > 0
  }

  /** The terminal has rewrapped the live lines. */
  function resized() {
    screen.clear()
    draw()
  }

  function startTimer() {
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
      startTimer()
      if (change.text?.kind === 'text') {
        const cleaned = cleanDelta(delta)
        if (!text && cleaned.trim() && hasOutput) screen.show([''], [])
        if (text || cleaned.trim()) {
          text ??= markdown({ width: () => screen.width, color: color })
          text.push(cleaned)
        }
        waiting &&= !cleaned.trim()
      } else if (retry || round?.retracted) {
        // Text that is generated again always has a line above it that says why.
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
        waiting = !round.end && !call
      } else if (run?.outcome) return end()
      if (call) calls.add(call)
      draw()
    },
    end() {
      end()
      screen.close()
    },
  }
}
