import { styleText } from 'node:util'
import type { RunEvent } from 'millrace'
import { type Call, callsOf, statusOf } from './calls.ts'
import { cleanLine, deltaCleaner } from './clean.ts'
import { clip, type Screen, widthOf, wrap } from './screen.ts'

/** Shows one exchange while it happens: words as they come, and below them a line for each call, redrawn in place. */
export interface AnswerView {
  tell(event: RunEvent): void
  /** Leaves everything as it is, for something else to be written below. */
  settle(): void
}

export function answerView(screen: Screen): AnswerView {
  const calls = callsOf()
  let cleanDelta = deltaCleaner()
  // The line that words are added to. Those before it are written and done with.
  let line = ''
  let speaking = false
  let ticking: NodeJS.Timeout | undefined

  function paint() {
    const lines = wrap(line, screen.width)
    line = lines.pop() ?? ''
    const live = [...calls.shown].map((call) => callLine(call, screen.width))
    screen.show(lines, line ? [line, ...live] : live)
    // The elapsed time goes on when nothing else happens.
    clearTimeout(ticking)
    ticking = [...calls.shown].some(({ state }) => state === 'running') ? setTimeout(paint, 100) : undefined
  }

  /** The words so far and the calls below them are history. */
  function settle() {
    clearTimeout(ticking)
    const lines = [
      ...(line ? wrap(line, screen.width) : []),
      ...[...calls.shown].map((call) => callLine(call, screen.width)),
    ]
    screen.show(lines, [])
    calls.clear()
    cleanDelta = deltaCleaner()
    line = ''
    speaking = false
  }

  function note(text: string) {
    settle()
    screen.show([clip(cleanLine(text), screen.width)], [])
  }

  return {
    settle,
    tell(event) {
      calls.take(event)
      switch (event.type) {
        case 'text':
          line += (speaking ? '' : 'desk › ') + cleanDelta(event.text)
          speaking = true
          return paint()
        case 'round-start':
          return settle()
        case 'round-retract':
          calls.clear()
          return note(`↺ once more from the start: ${event.reason}`)
        case 'round-retry':
          return note(`↺ trying again: ${event.error.message}`)
        case 'run-end':
          if (event.outcome === 'cancelled') return note('■ stopped')
          return event.error ? note(`✗ ${event.error.message}`) : settle()
        default:
          if ('callId' in event) paint()
      }
    },
  }
}

const marks: Record<Exclude<Call['state'], 'running'>, string> = {
  arriving: styleText('dim', '…'),
  waiting: styleText('dim', '·'),
  asking: styleText('yellow', '?'),
  done: styleText('green', '✓'),
  failed: styleText('red', '✗'),
  declined: styleText('red', '✗'),
  stopped: styleText('yellow', '■'),
}
const spinner = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏']

/** One line, never wider than the terminal: long notes give way to the arguments, and those to the state and its time. */
function callLine(call: Call, width: number): string {
  const turn = Math.floor((performance.now() - call.startedAt) / 80) % spinner.length
  const mark = call.state === 'running' ? styleText('cyan', spinner[turn] ?? '') : marks[call.state]
  const status = statusOf(call)
  const [state = ''] = status.split(' · ')
  const room = width - widthOf(`  x ${call.name}  · ${state}`)
  const input = clip(cleanLine(call.input.slice(0, 1000)), Math.max(8, room))
  const words = [`${call.name} ${input}`, ...(status ? [status] : [])].join(' · ')
  return `  ${mark} ${styleText('dim', clip(words, width - 4))}`
}
