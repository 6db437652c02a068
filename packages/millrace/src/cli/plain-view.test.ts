import { describe, expect, test } from 'vitest'
import type { ThreadEvent } from '../protocol/index.ts'
import { createView, take } from '../view/index.ts'
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

function play(events: readonly ThreadEvent[], { onePlace = false, quiet = false, hold = false } = {}) {
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
    hold,
  })
  const log = createView()
  for (const [index, event] of events.entries()) view.take(take(log, { seq: index + 1, at: 0, event }))
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

describe('a round that is retracted', () => {
  const retract: ThreadEvent = { type: 'round-retract', round: 1, reason: 'the stream broke' }
  const events = [round(1), text('half an ans'), retract, text('A whole answer.'), roundEnd]

  test('is generated again below a line that says so, also where notes go elsewhere', () => {
    const { out, err } = play(events)
    expect(out).toBe('half an ans\n[stream interrupted, answer restarts]\nA whole answer.\n')
    expect(err).toContain('taken back and told again: the stream broke')
  })

  test('has that line also where it is to be quiet', () => {
    for (const onePlace of [false, true])
      expect(play(events, { quiet: true, onePlace }).out).toBe(
        'half an ans\n[stream interrupted, answer restarts]\nA whole answer.\n',
      )
  })

  test('has only its note where notes and words come out in one place', () => {
    expect(play(events, { onePlace: true }).out).toBe(
      'half an ans\nwhat was said last is taken back and told again: the stream broke\nA whole answer.\n',
    )
  })

  test('has no line if none of its words were written', () => {
    expect(play([round(1), call, retract, text('A whole answer.'), roundEnd]).out).toBe('A whole answer.\n')
  })

  test('leaves nothing of an unfinished escape sequence behind', () => {
    const esc = String.fromCharCode(27)
    const cut = [round(1), text(`half${esc}]0;ti`), retract, text('A whole answer.'), roundEnd]
    expect(play(cut).out).toMatch(/\nA whole answer\.\n$/)
  })

  test('never shows where words are held, not even its line', () => {
    const more = [round(2), text('More.'), { ...roundEnd, round: 2 } as ThreadEvent]
    expect(play([...events, ...more], { hold: true }).out).toBe('A whole answer.\n\nMore.\n')
  })
})

describe('words that are held', () => {
  const start: ThreadEvent = { type: 'tool-start', callId: 'c1', name: 'look_up', attempt: 1 }
  const said = (events: readonly ThreadEvent[]) => {
    const words: string[] = []
    const view = plainView({ say: (text) => words.push(text), onePlace: false, hold: true })
    const log = createView()
    for (const [index, event] of events.entries()) view.take(take(log, { seq: index + 1, at: 0, event }))
    return { words, end: () => view.end() }
  }

  test('are written at the end of their round, or at the end of all', () => {
    expect(said([round(1), text('Let me'), text(' see.')]).words).toEqual([])
    expect(said([round(1), text('Let me'), text(' see.'), roundEnd]).words).toEqual(['Let me see.', '\n'])
    const { words, end } = said([round(1), text('Half')])
    end()
    expect(words).toEqual(['Half', '\n'])
  })

  test('are written as they come once a tool of their round has started', () => {
    const begun = [round(1), text('Let me see.'), call, start, text(' One'), text(' moment.')]
    expect(said(begun).words).toEqual(['Let me see.', ' One', ' moment.'])
    expect(said([...begun, roundEnd, round(2), text('Half')]).words).toEqual([
      'Let me see.',
      ' One',
      ' moment.',
      '\n',
    ])
  })
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
