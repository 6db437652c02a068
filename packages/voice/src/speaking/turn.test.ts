import { expect, test } from 'vitest'
import type { SpokenRun } from './reading.ts'
import type { Segment } from './segment.ts'
import { playedPositionOf, recordOf, type Turn, unplayedRounds } from './turn.ts'

const sampleRate = 1000

interface Said extends Partial<Segment> {
  readonly text: string
  readonly round?: number
  readonly start?: number
}

/** A turn with sentences of one second each, played up to a position. */
function turnOf(said: readonly Said[], position: number, more: Partial<SpokenRun> = {}): Turn {
  const segments = said.map(({ text, round = 1, start = 0, ...rest }, at): Segment => {
    const origins = Array.from({ length: text.length + 1 }, (_, index) => index)
    return {
      sentence: { source: text, speech: text, origins },
      textPosition: { round, start },
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
  const speaker = { segments, unspoken: [], samples: said.length * 1000, gaps: [], firstAudioAt: 40 }
  const playhead = { position, startedAt: 50 }
  return {
    number: 1,
    run: {
      id: 'r',
      seq: 1,
      inputs: [],
      isResumed: false,
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

const unplayed = (turn: Turn, after = 0) =>
  unplayedRounds(turn.run, after, playedPositionOf(turn, sampleRate))

test('unplayed rounds exclude those played to the end, and list later ones with 0 characters', () => {
  const said = [{ text: 'All of it is played.' }, { text: 'Nothing here.', round: 2 }]
  const rounds = new Map([
    [1, 20],
    [2, 13],
  ])
  expect(unplayed(turnOf(said, 1000, { rounds }))).toEqual([{ round: 2, chars: 0 }])
  expect(unplayed(turnOf(said, 1000, { rounds, round: 1 }))).toEqual([
    { round: 1, chars: 20 },
    { round: 2, chars: 0 },
  ])
})

test('unplayed rounds exclude those of earlier turns', () => {
  const rounds = new Map([
    [1, 20],
    [2, 13],
  ])
  expect(unplayed(turnOf([{ text: 'Nothing here.', round: 2 }], 0, { rounds }), 1)).toEqual([
    { round: 2, chars: 0 },
  ])
})

test('a client that reconnects and plays nothing keeps its earlier position', () => {
  const turn = turnOf([{ text: 'of it.', start: 14 }], 0, { known: { round: 1, chars: 14 } })
  expect(unplayed(turn)).toEqual([{ round: 1, chars: 14 }])
})

test('a record counts the generated words that were not retracted, and the played ones', () => {
  const turn = turnOf(
    [
      { text: 'Wrong words.', isRetracted: true, hasFailed: true },
      { text: 'Three right words.' },
      { text: 'One moment.', textPosition: undefined },
      { text: '```code```', start: 18, sentence: { source: '```code```', speech: '', origins: [0] } },
      { text: 'Lost words.', start: 28, hasFailed: true },
      { text: 'Not played.', round: 2 },
    ],
    3000,
  )
  expect(recordOf(turn, 'interrupted', sampleRate)).toEqual({
    turn: 1,
    run: 'r',
    since: 'run',
    // Times before the start count as 0.
    firstTokenMs: 0,
    firstAudioMs: 30,
    playbackMs: 40,
    gaps: [],
    sentences: 4,
    failed: 1,
    audioMs: 6000,
    playedMs: 3000,
    words: 8,
    wordsPlayed: 3,
    outcome: 'interrupted',
  })
})
