import { expect, test } from 'vitest'
import type { SpokenRun } from './reading.ts'
import type { Segment } from './segment.ts'
import { placeHeard, recordOf, type Turn, unheardRounds } from './turn.ts'

const sampleRate = 1000

interface Said extends Partial<Segment> {
  readonly text: string
  readonly round?: number
  readonly start?: number
}

/** A turn whose sentences last a second each, played so far. */
function turnOf(said: readonly Said[], position: number, more: Partial<SpokenRun> = {}): Turn {
  const segments = said.map(({ text, round = 1, start = 0, ...rest }, at): Segment => {
    const origins = Array.from({ length: text.length + 1 }, (_, index) => index)
    return {
      sentence: { source: text, speech: text, origins },
      place: { round, start },
      waitedFor: 'model',
      position: at * 1000,
      samples: 1000,
      isDone: true,
      hasFailed: false,
      isRetracted: false,
      words: [],
      ...rest,
    }
  })
  const speaker = { segments, unsaid: [], samples: said.length * 1000, gaps: [], firstAudioAt: 40 }
  const playhead = { position, beganAt: 50 }
  return {
    number: 1,
    run: {
      id: 'r',
      seq: 1,
      inputs: [],
      isBack: false,
      startedAt: 10,
      firstTextAt: 5,
      rounds: new Map([[1, 20]]),
      round: 0,
      known: undefined,
      isOpen: false,
      ...more,
    },
    after: 0,
    speaker: { ...speaker, playhead } as unknown as Turn['speaker'],
    since: 'run',
    startedAt: 10,
    firstSentenceAt: undefined,
  }
}

const unheard = (turn: Turn, after = 0) => unheardRounds(turn.run, after, placeHeard(turn, sampleRate))

test('rounds that were heard to the end are not among the unheard, later ones are with nothing', () => {
  const said = [{ text: 'All of it was heard.' }, { text: 'Nothing here.', round: 2 }]
  const rounds = new Map([
    [1, 20],
    [2, 13],
  ])
  expect(unheard(turnOf(said, 1000, { rounds }))).toEqual([{ round: 2, chars: 0 }])
  expect(unheard(turnOf(said, 1000, { rounds, round: 1 }))).toEqual([
    { round: 1, chars: 20 },
    { round: 2, chars: 0 },
  ])
})

test('rounds of earlier turns are left alone', () => {
  const rounds = new Map([
    [1, 20],
    [2, 13],
  ])
  expect(unheard(turnOf([{ text: 'Nothing here.', round: 2 }], 0, { rounds }), 1)).toEqual([
    { round: 2, chars: 0 },
  ])
})

test('a client that has come back and heard nothing since has heard what it had heard before', () => {
  const turn = turnOf([{ text: 'of it.', start: 14 }], 0, { known: { round: 1, chars: 14 } })
  expect(unheard(turn)).toEqual([{ round: 1, chars: 14 }])
})

test('a record counts what the model has said and not taken back, and what was heard of it', () => {
  const turn = turnOf(
    [
      { text: 'Wrong words.', isRetracted: true, hasFailed: true },
      { text: 'Three right words.' },
      { text: 'One moment.', place: undefined },
      { text: '```code```', start: 18, sentence: { source: '```code```', speech: '', origins: [0] } },
      { text: 'Lost words.', start: 28, hasFailed: true },
      { text: 'Not heard.', round: 2 },
    ],
    3000,
  )
  expect(recordOf(turn, 'interrupted', sampleRate)).toEqual({
    turn: 1,
    run: 'r',
    since: 'run',
    // What came before the beginning came with it.
    firstTokenMs: 0,
    firstAudioMs: 30,
    playbackMs: 40,
    gaps: [],
    sentences: 4,
    failed: 1,
    audioMs: 6000,
    playedMs: 3000,
    words: 8,
    wordsHeard: 3,
    outcome: 'interrupted',
  })
})
