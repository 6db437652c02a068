import type { Entry, Outcome } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import type { CallView, InputView, RunView } from '../../view/index.ts'
import { createView, take } from '../../view/index.ts'
import type { Markdown, Span } from '../terminal/index.ts'
import {
  callLine,
  charWidth,
  cleanLine,
  cleanText,
  deltaCleaner,
  lookOf,
  markdown,
  painter,
  spinnerAt,
  style,
  wrap,
} from '../terminal/index.ts'

/**
 * A conversation as rows of a screen, folded from the entries of its log. Rows that are done with are handed out once; the
 * others are asked for whenever they are to be drawn.
 */
export interface ConversationView {
  tell(entry: Entry): void
  /** What was asked of us, not of the agent. */
  echo(text: string): void
  /** A line of our own, in between. */
  note(text: string, look?: number): void
  take(): string[]
  live(now: number): string[]
  /** Something is shown that changes while time goes on. */
  readonly ticking: boolean
  /** The last row that was handed out, or will be, is an empty one. */
  readonly spaced: boolean
}

export interface ViewOptions {
  readonly width: () => number
  readonly colour: boolean
}

/** Of something long that a person said, so many rows are shown. */
const mostSaidRows = 12

export function conversationView({ width, colour }: ViewOptions): ConversationView {
  const paint = painter(colour)
  const view = createView({ keep: 'round' })
  /** Those that are live. */
  const calls = new Set<CallView>()
  let done: string[] = []
  let isGap = false
  let words: Markdown | undefined
  let cleanDelta = deltaCleaner()
  /** The end of what the model thinks aloud. */
  let thought = ''
  let running = false

  function write(rows: readonly string[]) {
    done.push(...rows)
    if (rows.length > 0) isGap = rows.at(-1) === ''
  }

  /** One empty row, before and after what belongs together. */
  function gap() {
    if (!isGap) write([''])
  }

  function lines(spans: readonly Span[], rest: readonly Span[] = []) {
    write(wrap(spans, width(), { rest }).map(paint))
  }

  function dim(text: string) {
    lines([{ text, style: style.dim }])
  }

  function callLines(now: number, shown = [...calls]): string[] {
    return shown.map((call) => paint(callLine(call, { width: width(), now })))
  }

  function endWords() {
    words?.end()
    write(words?.take() ?? [])
    words = undefined
    cleanDelta = deltaCleaner()
    thought = ''
  }

  /** Words and calls so far are history. */
  function settle(at: number) {
    endWords()
    write(callLines(at))
    calls.clear()
  }

  function hear(inputs: readonly InputView[] = []) {
    for (const { message } of inputs) {
      gap()
      write(saidRows(cleanText(textOf(message)), width()).map(paint))
      gap()
    }
  }

  function speak(delta: string) {
    const clean = cleanDelta(delta)
    const text = words ? clean : clean.trimStart()
    if (!text) return
    thought = ''
    words ??= markdown({ width, colour })
    words.push(text)
    write(words.take())
  }

  function end({ outcome = 'completed', error }: RunView, at: number) {
    // The calls of a run that waits for a person are still to be decided about.
    if (outcome === 'suspended') return endWords()
    settle(at)
    if (outcome === 'failed')
      lines([{ text: `✗ ${cleanLine(error?.message ?? 'failed')}`, style: style.red }])
    const why = endings[outcome]
    if (why) lines([{ text: why, style: style.yellow }])
    gap()
  }

  return {
    tell(entry) {
      const { call, run, round, retry, read, notice, text, delta } = take(view, entry)
      const { at } = entry
      if (call) calls.add(call)
      if (run) running = !run.outcome
      if (text?.kind === 'text') return speak(delta)
      if (text && !words) thought = (thought + delta).slice(-500)
      if (round?.retracted) {
        endWords()
        calls.clear()
        dim(`↺ once more from the start: ${cleanLine(round.retracted.reason)}`)
      } else if (round && !round.end && !text) settle(at)
      hear(read)
      if (retry) dim(`↺ trying again: ${cleanLine(retry.error.message)}`)
      if (notice?.notice === 'summary') dim('∴ what was said first is summed up for the model')
      if (run?.outcome) end(run, at)
    },
    echo(text) {
      gap()
      lines([prompt, { text: cleanText(text), style: style.dim }])
    },
    note(text, look = style.plain) {
      for (const line of cleanText(text).split('\n'))
        lines([{ text: line, style: look }], [{ text: indentOf(line, width()), style: style.plain }])
    },
    take() {
      const rows = done
      done = []
      return rows
    },
    live(now) {
      // What asks is shown where it is answered.
      const shown = [...calls].filter((call) => lookOf(call) !== 'asking')
      const rows = [...(words?.live() ?? []), ...callLines(now, shown)]
      if (!running || rows.length > 0) return rows
      const thinking = thought && ` ${endOf(cleanLine(thought), width() - 2)}`
      return [paint([spinnerAt(now), { text: thinking, style: style.dim }])]
    },
    get ticking() {
      return running
    },
    get spaced() {
      return isGap
    },
  }
}

const endings: Readonly<Partial<Record<Outcome, string>>> = {
  cancelled: '■ stopped',
  'max-rounds': '▲ stopped: as many rounds of tools as it may have; say something to go on',
  truncated: '▲ cut off: the answer was as long as it may be',
}

export const prompt: Span = { text: '› ', style: style.bold | style.cyan }

/** What a person said; of much, its beginning. */
export function saidRows(text: string, width: number, look: number = style.bold): (readonly Span[])[] {
  const rows = wrap([{ text, style: look }], width, {
    first: [prompt],
    rest: [{ text: '  ', style: style.plain }],
  })
  if (rows.length <= mostSaidRows) return rows
  const hidden = rows.length - mostSaidRows + 1
  return [...rows.slice(0, mostSaidRows - 1), [{ text: `  … ${hidden} more rows`, style: style.dim }]]
}

/** Where a line has columns, what is too long for its row goes on below the second one. */
function indentOf(line: string, width: number): string {
  const column = /^.*?\S {2,}(?=\S)/.exec(line)?.[0].length ?? 0
  return ' '.repeat(column < width / 2 ? column : 0)
}

/** As much of the end of a text as there is room for. */
function endOf(text: string, width: number): string {
  const chars = Array.from(text)
  let start = chars.length
  for (let used = 0; start > 0; start--) {
    used += charWidth(chars[start - 1] ?? '')
    if (used > width) break
  }
  return chars.slice(start).join('')
}
