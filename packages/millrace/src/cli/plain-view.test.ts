import { describe, expect, test } from 'vitest'
import type { ThreadEvent } from '../protocol/index.ts'
import { applyEntry, createView } from '../view/index.ts'
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

function play(events: readonly ThreadEvent[], { interleaved = false, quiet = false, hold = false } = {}) {
  let out = ''
  let err = ''
  const view = plainView({
    print: (words) => {
      out += words
    },
    note: quiet
      ? undefined
      : (line) => {
          if (interleaved) out += `${line}\n`
          else err += `${line}\n`
        },
    interleaved,
    hold,
  })
  const log = createView()
  for (const [index, event] of events.entries()) view.take(applyEntry(log, { seq: index + 1, at: 0, event }))
  view.end()
  return { out, err }
}

test('only text goes to stdout, ending with a newline; notes go to stderr', () => {
  const { out, err } = play([round(1), text('\n Let me'), text(' look.'), call, progress, result, roundEnd])
  expect(out).toBe('Let me look.\n')
  expect(err).toBe('[look_up] {"id":7}\n[look_up] half way\n[look_up] failed after 20 ms: no such thing\n')
})

test('each round is a paragraph', () => {
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

test('interleaved notes wait for the end of the sentence', () => {
  const events = [round(1), text('First. Second'), progress, text(' continues. '), text('Third.'), roundEnd]
  expect(play([call, ...events], { interleaved: true }).out).toBe(
    '[look_up] {"id":7}\nFirst. Second continues. \n[look_up] half way\nThird.\n',
  )
})

test('without notes, only text is written', () => {
  expect(play([round(1), call, text('Hi.'), result], { quiet: true })).toEqual({ out: 'Hi.\n', err: '' })
})

describe('a retracted round', () => {
  const retract: ThreadEvent = { type: 'round-retract', round: 1, reason: 'the stream broke' }
  const events = [round(1), text('half an ans'), retract, text('A whole answer.'), roundEnd]

  test('is followed by a separator, even if notes go elsewhere', () => {
    const { out, err } = play(events)
    expect(out).toBe('half an ans\n[stream interrupted, answer restarts]\nA whole answer.\n')
    expect(err).toContain('retracted, generating it again: the stream broke')
  })

  test('is followed by a separator without notes too', () => {
    for (const interleaved of [false, true])
      expect(play(events, { quiet: true, interleaved }).out).toBe(
        'half an ans\n[stream interrupted, answer restarts]\nA whole answer.\n',
      )
  })

  test('is followed only by its note if notes are interleaved', () => {
    expect(play(events, { interleaved: true }).out).toBe(
      'half an ans\npartial answer retracted, generating it again: the stream broke\nA whole answer.\n',
    )
  })

  test('has no separator if none of its text was written', () => {
    expect(play([round(1), call, retract, text('A whole answer.'), roundEnd]).out).toBe('A whole answer.\n')
  })

  test('does not leave an escape sequence open', () => {
    const esc = String.fromCharCode(27)
    const cut = [round(1), text(`half${esc}]0;ti`), retract, text('A whole answer.'), roundEnd]
    expect(play(cut).out).toMatch(/\nA whole answer\.\n$/)
  })

  test('is not shown at all if text is held back', () => {
    const more = [round(2), text('More.'), { ...roundEnd, round: 2 } as ThreadEvent]
    expect(play([...events, ...more], { hold: true }).out).toBe('A whole answer.\n\nMore.\n')
  })
})

describe('text that is held back', () => {
  const start: ThreadEvent = { type: 'tool-start', callId: 'c1', name: 'look_up', attempt: 1 }
  const printed = (events: readonly ThreadEvent[]) => {
    const words: string[] = []
    const view = plainView({ print: (text) => words.push(text), interleaved: false, hold: true })
    const log = createView()
    for (const [index, event] of events.entries())
      view.take(applyEntry(log, { seq: index + 1, at: 0, event }))
    return { words, end: () => view.end() }
  }

  test('is written at the end of its round, or at the end', () => {
    expect(printed([round(1), text('Let me'), text(' see.')]).words).toEqual([])
    expect(printed([round(1), text('Let me'), text(' see.'), roundEnd]).words).toEqual(['Let me see.', '\n'])
    const { words, end } = printed([round(1), text('Half')])
    end()
    expect(words).toEqual(['Half', '\n'])
  })

  test('streams once a tool of its round has started', () => {
    const started = [round(1), text('Let me see.'), call, start, text(' One'), text(' moment.')]
    expect(printed(started).words).toEqual(['Let me see.', ' One', ' moment.'])
    expect(printed([...started, roundEnd, round(2), text('Half')]).words).toEqual([
      'Let me see.',
      ' One',
      ' moment.',
      '\n',
    ])
  })
})

test('control sequences are removed from text, split anywhere, and from names and notes', () => {
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
