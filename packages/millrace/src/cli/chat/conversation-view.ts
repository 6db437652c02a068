import type { Entry, Outcome } from '../../protocol/index.ts'
import { limitText, textOf } from '../../protocol/index.ts'
import type { CallView, InputView, RunView } from '../../view/index.ts'
import { applyEntry, createView } from '../../view/index.ts'
import { runCostLine } from '../cost-line.ts'
import type { Markdown, Span } from '../terminal/index.ts'
import {
  callLine,
  charWidth,
  cleanLine,
  cleanText,
  deltaCleaner,
  markdown,
  painter,
  phaseOf,
  spinnerAt,
  style,
  wantsResult,
  wrap,
} from '../terminal/index.ts'

/**
 * A thread as rows on the screen, folded from the entries of its log. `take()` returns each finished
 * row once; `live()` returns the rows that can still change, for each redraw.
 */
export interface ConversationView {
  add(entry: Entry): void
  /** Shows a command as the user typed it. */
  echo(text: string): void
  /** Shows a line that is not part of the thread. */
  note(text: string, textStyle?: number): void
  take(): string[]
  live(now: number): string[]
  /** The live rows change over time. */
  readonly ticking: boolean
  /** The last finished row is empty. */
  readonly spaced: boolean
}

export interface ViewOptions {
  readonly width: () => number
  readonly color: boolean
}

/** How many rows of a long message are shown. */
const maxMessageRows = 12

export function conversationView({ width, color }: ViewOptions): ConversationView {
  const paint = painter(color)
  const view = createView({ keep: 'round' })
  /** Tool calls whose lines are live. */
  const calls = new Set<CallView>()
  let done: string[] = []
  let isGap = false
  let answer: Markdown | undefined
  let cleanDelta = deltaCleaner()
  /** The end of the model's reasoning. */
  let reasoning = ''
  let running = false
  /** A model of the run whose price is not known. */
  let unpriced: string | undefined

  function write(rows: readonly string[]) {
    done.push(...rows)
    if (rows.length > 0) isGap = rows.at(-1) === ''
  }

  /** Adds an empty row, unless there is one. */
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
    answer?.end()
    write(answer?.take() ?? [])
    answer = undefined
    cleanDelta = deltaCleaner()
    reasoning = ''
  }

  /** Finishes all text and tool calls so far. */
  function settle(at: number) {
    endWords()
    write(callLines(at))
    calls.clear()
  }

  function addInputs(inputs: readonly InputView[] = []) {
    for (const { message } of inputs) {
      gap()
      write(messageRows(cleanText(textOf(message)), width()).map(paint))
      gap()
    }
  }

  function addText(delta: string) {
    const clean = cleanDelta(delta)
    const text = answer ? clean : clean.trimStart()
    if (!text) return
    reasoning = ''
    answer ??= markdown({ width, color })
    answer.push(text)
    write(answer.take())
  }

  function end(run: RunView, at: number) {
    const { outcome = 'completed', error, limit } = run
    // The tool calls of a suspended run are still open.
    if (outcome === 'suspended') return endWords()
    settle(at)
    if (outcome === 'failed')
      lines([{ text: `✗ ${cleanLine(error?.message ?? 'failed')}`, style: style.red }])
    const why = limit ? `▲ ${limitText(limit)}` : outcomeLines[outcome]
    if (why) lines([{ text: why, style: style.yellow }])
    const cost = runCostLine(run, unpriced)
    if (cost) dim(cost)
    unpriced = undefined
    gap()
  }

  return {
    add(entry) {
      const { call, run, round, retry, read, notice, text, delta, rewound } = applyEntry(view, entry)
      const { at } = entry
      if (run) running = !run.outcome
      if (round?.end && !round.end.cost) unpriced = round.end.model
      if (text?.kind === 'text') return addText(delta)
      if (text && !answer) reasoning = (reasoning + delta).slice(-500)
      if (round?.retracted) {
        endWords()
        calls.clear()
        dim(`↺ retracted, generating again: ${cleanLine(round.retracted.reason)}`)
      } else if (round && !round.end && !text) settle(at)
      if (call) calls.add(call)
      addInputs(read)
      if (retry) dim(`↺ retrying: ${cleanLine(retry.error.message)}`)
      if (notice?.notice === 'summary') dim('∴ earlier messages were summarized for the model')
      if (rewound) dim('↶ went back in the conversation')
      if (run?.outcome) end(run, at)
    },
    echo(text) {
      gap()
      lines([prompt, { text: cleanText(text), style: style.dim }])
    },
    note(text, textStyle = style.plain) {
      for (const line of cleanText(text).split('\n'))
        lines([{ text: line, style: textStyle }], [{ text: indentOf(line, width()), style: style.plain }])
    },
    take() {
      const rows = done
      done = []
      return rows
    },
    live(now) {
      // A call that waits for approval is shown at the prompt.
      const shown = [...calls].filter((call) => phaseOf(call) !== 'asking' || wantsResult(call))
      const rows = [...(answer?.live() ?? []), ...callLines(now, shown)]
      if (!running || rows.length > 0) return rows
      const thinking = reasoning && ` ${endOf(cleanLine(reasoning), width() - 2)}`
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

const outcomeLines: Readonly<Partial<Record<Outcome, string>>> = {
  canceled: '■ stopped',
  'max-rounds': '▲ stopped at the round limit; send a message to continue',
  truncated: '▲ cut off: the answer reached its length limit',
}

export const prompt: Span = { text: '› ', style: style.bold | style.cyan }

/** A message of the user; of a long one, its first rows. */
export function messageRows(
  text: string,
  width: number,
  textStyle: number = style.bold,
): (readonly Span[])[] {
  const rows = wrap([{ text, style: textStyle }], width, {
    first: [prompt],
    rest: [{ text: '  ', style: style.plain }],
  })
  if (rows.length <= maxMessageRows) return rows
  const hidden = rows.length - maxMessageRows + 1
  return [...rows.slice(0, maxMessageRows - 1), [{ text: `  … ${hidden} more rows`, style: style.dim }]]
}

/** A long line with two columns wraps below its second column. */
function indentOf(line: string, width: number): string {
  const column = /^.*?\S {2,}(?=\S)/.exec(line)?.[0].length ?? 0
  return ' '.repeat(column < width / 2 ? column : 0)
}

/** As much of the end of a text as fits. */
function endOf(text: string, width: number): string {
  const chars = Array.from(text)
  let start = chars.length
  for (let used = 0; start > 0; start--) {
    used += charWidth(chars[start - 1] ?? '')
    if (used > width) break
  }
  return chars.slice(start).join('')
}
