import { expect, test } from 'vitest'
import type { ThreadEvent } from '../protocol/index.ts'
import { plainView } from './plain-view.ts'

const call: ThreadEvent = { type: 'tool-call', callId: 'c1', name: 'look_up', input: { id: 7 } }
const progress: ThreadEvent = { type: 'tool-progress', callId: 'c1', data: 'half way' }
const result: ThreadEvent = {
  type: 'tool-result',
  callId: 'c1',
  name: 'look_up',
  output: [{ type: 'text', text: 'The tool failed: no such thing' }],
  status: 'failed',
  isError: true,
  ms: 20,
  overlapMs: 0,
}
const round = (number: number): ThreadEvent => ({ type: 'round-start', round: number, model: 'm' })
const roundEnd: ThreadEvent = { type: 'round-end', round: 1, model: 'm', finish: 'stop' }
const text = (words: string): ThreadEvent => ({ type: 'text', text: words })

function play(events: readonly ThreadEvent[], { onePlace = false, quiet = false } = {}) {
  let out = ''
  let err = ''
  const view = plainView({
    say: (words) => {
      out += words
    },
    tell: quiet
      ? undefined
      : (line) => {
          if (onePlace) out += `${line}\n`
          else err += `${line}\n`
        },
    onePlace,
  })
  for (const [index, event] of events.entries()) view.take({ seq: index + 1, at: 0, event })
  view.end()
  return { out, err }
}

test('words are on stdout alone and end with a newline; all else is on stderr', () => {
  const { out, err } = play([round(1), text('\n Let me'), text(' look.'), call, progress, result, roundEnd])
  expect(out).toBe('Let me look.\n')
  expect(err).toBe('[look_up] {"id":7}\n[look_up] half way\n[look_up] failed after 20 ms: no such thing\n')
})

test('rounds are paragraphs', () => {
  const { out } = play([
    round(1),
    text('One.'),
    roundEnd,
    round(2),
    text('Two.\n'),
    roundEnd,
    round(3),
    text('Three.'),
  ])
  expect(out).toBe('One.\n\nTwo.\n\nThree.\n')
})

test('in one place a line waits for the end of a sentence', () => {
  const events = [round(1), text('First. Second'), progress, text(' goes on. '), text('Third.'), roundEnd]
  expect(play([call, ...events], { onePlace: true }).out).toBe(
    '[look_up] {"id":7}\nFirst. Second goes on. \n[look_up] half way\nThird.\n',
  )
})

test('a quiet one says the words and nothing else', () => {
  expect(play([round(1), call, text('Hi.'), result], { quiet: true })).toEqual({ out: 'Hi.\n', err: '' })
})

test('a round that is told again begins on a line of its own', () => {
  const { out, err } = play([
    round(1),
    text('half an ans'),
    { type: 'round-retract', round: 1, reason: 'the stream broke' },
    round(1),
    text('A whole answer.'),
  ])
  expect(out).toBe('half an ans\n\nA whole answer.\n')
  expect(err).toContain('taken back and told again: the stream broke')
})

test('orders to a terminal come neither through words, cut anywhere, nor through names and notes', () => {
  const esc = String.fromCharCode(27)
  const nasty = `a${esc}]0;title\u0007b${esc}[2Jc\u009b31md\u202ee`
  for (let cut = 0; cut <= nasty.length; cut++) {
    const { out } = play([round(1), text(nasty.slice(0, cut)), text(nasty.slice(cut))].filter(notEmpty))
    expect(out).toBe('abcde\n')
  }
  const { err } = play([{ ...call, name: `x${esc}[31m` }, { ...progress, data: nasty } as ThreadEvent])
  expect(err).toBe('[x] {"id":7}\n[x] abcde\n')
})

function notEmpty(event: ThreadEvent): boolean {
  return event.type !== 'text' || event.text !== ''
}
