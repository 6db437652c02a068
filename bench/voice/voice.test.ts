import { describe, expect, it } from 'vitest'
import type { TurnRecord } from '../../packages/millrace/src/protocol/index.ts'
import { markdown, withSection } from '../harness/report.ts'
import { faultsOf, figuresOf, type Received, timeOf, wordDelays } from './figures.ts'
import { scenarios, sizes, voicePart } from './part.ts'
import { type AudioCheck, audioCheck, player } from './playback.ts'
import type { VoiceResults } from './tables.ts'
import { answerChars, pieces, prose, roundTexts } from './texts.ts'

describe('the check of the audio that a client received', () => {
  const pcm = new Int16Array(100)
  const audio = (check: AudioCheck, seq: number, position: number, turn = 1) =>
    check.takeFrame({ kind: 'speech', turn, seq, position, pcm })
  const sentence = (check: AudioCheck, round: number, position: number, from = 0, to?: number) => {
    const words = (roundTexts[round - 1] ?? '').slice(from, to)
    check.takeEvent({
      type: 'voice_sentence',
      turn: 1,
      position,
      text: words,
      round,
      start: from,
      chars: words.length,
    })
  }
  const begin = (check: AudioCheck, turn = 1) =>
    check.takeEvent({ type: 'voice_turn', turn, run: 'r', seq: 1 })
  const end = (check: AudioCheck, samples: number) => check.takeEvent({ type: 'voice_end', turn: 1, samples })

  function faultsAfter(play: (check: AudioCheck) => void): readonly string[] {
    const check = audioCheck()
    begin(check)
    play(check)
    return check.faults
  }

  it('accepts a complete turn', () => {
    const faults = faultsAfter((check) => {
      sentence(check, 1, 0)
      audio(check, 0, 0)
      sentence(check, 2, 100, 0, 20)
      audio(check, 1, 100)
      sentence(check, 2, 200, 20)
      audio(check, 2, 200)
      end(check, 300)
    })
    expect(faults).toEqual([])
  })

  it.each<[string, (check: AudioCheck) => void, string]>([
    ['a frame is missing', (check) => audio(check, 1, 0), 'got frame 1, expected 0'],
    ['there is a gap', (check) => audio(check, 0, 50), 'got audio at 50, expected 0'],
    ['audio belongs to another turn', (check) => audio(check, 0, 0, 2), 'audio of turn 2 came in turn 1'],
    ['words are missing', (check) => sentence(check, 1, 0, 10), 'is out of order'],
    [
      'a sentence is repeated',
      (check) => {
        sentence(check, 1, 0)
        sentence(check, 1, 0)
      },
      'is out of order',
    ],
    [
      'rounds are in the wrong order',
      (check) => {
        sentence(check, 2, 0)
        sentence(check, 1, 0)
      },
      'round 1 was spoken late',
    ],
    ['a sentence is misplaced', (check) => sentence(check, 1, 7), 'a sentence is at 7, expected 0'],
    ['ends early', (check) => end(check, 0), 'turn 1 ended without'],
    ['a turn is shorter than announced', (check) => end(check, 5), 'turn 1 has 5 samples, and 0 came'],
    ['a turn starts again', (check) => begin(check), 'turn 1 came after turn 1'],
    [
      'the voice fails',
      (check) => check.takeEvent({ type: 'voice_error', message: 'no' }),
      'voice error: no',
    ],
    [
      'is silenced',
      (check) => check.takeEvent({ type: 'voice_silence', turn: 1 }),
      'unexpected voice_silence',
    ],
  ])('reports when %s', (_, play, fault) => {
    expect(faultsAfter(play)).toContainEqual(expect.stringContaining(fault))
  })
})

describe('a voice scenario', () => {
  const size = { ...sizes.tiny.speaking, threads: 1, turns: 1 }
  const [, spoken, , hanging] = scenarios
  const record: TurnRecord = {
    turn: 1,
    run: 'r',
    since: 'run',
    gaps: [
      { position: 0, ms: 30, for: 'tool' },
      { position: 9, ms: 5, for: 'voice' },
    ],
    sentences: 10,
    failed: 0,
    audioMs: 500,
    playedMs: 500,
    words: 7,
    wordsPlayed: 7,
    outcome: 'completed',
  }
  const listener = {
    thread: 't0',
    firstAudio: [140],
    records: [record],
    silence: [40],
    aheadMs: 90,
    faults: [],
  }
  const reader = { thread: 't0', marks: [[answerChars, 130]] as const, faults: [] }
  const unspoken = { thread: 'b0', marks: [[answerChars, 125]] as const, faults: [] }
  const said = { t0: [[answerChars, 120]], b0: [[answerChars, 120]] } as const
  const received: Received = { said, read: [reader, unspoken], heard: [listener] }

  it('has no faults if everything was read and heard', () => {
    expect(spoken && faultsOf(spoken, size, received)).toEqual([])
    const { words, unspoken: others, firstAudio, turns, silence } = figuresOf(received)
    expect({ words: words?.max, unspoken: others?.max, first: firstAudio?.max, turns }).toEqual({
      words: 10,
      unspoken: 5,
      first: 20,
      turns: 1,
    })
    expect([silence.played?.max, silence.recorded?.max]).toEqual([40, 35])
  })

  it.each<[string, Partial<Received>, string]>([
    ['the model was cut off', { said: { ...said, t0: [[5, 120]] } }, 'the model finished in 1 of 2 threads'],
    ['a reader misses words', { read: [{ ...reader, marks: [[5, 130]] }] }, 't0, a reader: read 5 of'],
    ['a reader was cut off', { read: [{ ...reader, faults: ['gone'] }] }, 't0, a reader: gone'],
    ['a turn was not heard', { heard: [{ ...listener, records: [] }] }, 't0, a listener: heard 0 of 1 turns'],
    [
      'a word was not heard',
      { heard: [{ ...listener, records: [{ ...record, wordsPlayed: 6 }] }] },
      't0, a listener: has the record',
    ],
    ['audio was lost', { heard: [{ ...listener, faults: ['a gap'] }] }, 't0, a listener: a gap'],
  ])('has a fault if %s', (_, wrong, fault) => {
    expect(spoken && faultsOf(spoken, size, { ...received, ...wrong })).toEqual([
      expect.stringContaining(fault),
    ])
  })

  it('expects no audio from a voice that hangs', () => {
    expect(
      hanging && faultsOf(hanging, size, { ...received, heard: [{ ...listener, records: [] }] }),
    ).toEqual([])
  })
})

describe('the helpers of the voice benchmark', () => {
  it('play at the pace of the clock, and wait for more audio', () => {
    let time = 0
    const speaker = player(1000, () => time)
    speaker.add(100)
    time = 60
    expect(speaker.position()).toBe(60)
    time = 500
    expect(speaker.position()).toBe(100)
    speaker.add(50)
    time = 510
    expect(speaker.position()).toBe(110)
    expect(speaker.most).toBe(100)
    expect(speaker.silentMs).toBe(400)
  })

  it('count a delay for each word, however words are joined', () => {
    const said = [
      [3, 10],
      [6, 20],
      [9, 30],
    ] as const
    expect(
      wordDelays(said, [
        [6, 25],
        [9, 31],
      ]),
    ).toEqual([15, 5, 1])
    expect(wordDelays(said, [[3, 12]])).toEqual([2])
    expect(timeOf(said, 4)).toBe(20)
    expect(timeOf(said, 10)).toBeUndefined()
  })

  it('generate the same prose of a given length every time', () => {
    expect(prose(1000)).toHaveLength(1000)
    expect(prose(2000).slice(0, 1000)).toBe(prose(1000))
    expect([...pieces('abcdefg', 3)]).toEqual(['abc', 'def', 'g'])
  })

  it('replace the tables between the markers of a page', () => {
    const split = (name: string, ms: number) => ({
      name,
      title: name,
      texts: [{ chars: 1000, ms }],
      right: { whole: 9, streamed: 8 },
    })
    const results: VoiceResults = {
      date: '2026-01-02',
      mode: 'full',
      node: 'v24.0.0',
      machine: 'two cores',
      packages: { flite: '1.2.3' },
      sentences: {
        pieceChars: 4,
        chars: [1000],
        mostMs: 500,
        cases: 10,
        splitters: [split('ours', 2), split('other', 5)],
      },
      parts: [{ title: 'flite', unit: 'ms', leftOut: 'it is not installed' }],
    }
    const page = '# Bench\n\n<!-- voice -->\nyesterday\n<!-- /voice -->\n\nend\n'
    const once = withSection(page, 'voice', markdown(voicePart, results)) ?? ''
    expect(once).toContain('Node 24.0.0, flite 1.2.3, two cores.')
    expect(once).toContain('| **ours** | **2.00 ms** | **500,000** | **9** | **8** |')
    expect(once).toContain('| other | 5.00 ms 2.50× | 200,000 | 9 | 8 |')
    expect(once).toContain('- flite: left out, it is not installed')
    expect(once).not.toContain('yesterday')
    expect(withSection(once, 'voice', markdown(voicePart, results))).toBe(once)
    expect(withSection('# Bench', 'voice', '')).toBeUndefined()
  })
})
