import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answerChars, roundTexts } from '../bench/voice/answer.ts'
import type { AudioCheck } from '../bench/voice/audio-check.ts'
import { audioCheck } from '../bench/voice/audio-check.ts'
import { readOptions } from '../bench/voice/options.ts'
import { player } from '../bench/voice/player.ts'
import { pieces, prose } from '../bench/voice/prose.ts'
import type { VoiceResults } from '../bench/voice/report.ts'
import { markdown, withVoice } from '../bench/voice/report.ts'
import { delaysOf, timeOf } from '../bench/voice/said.ts'
import { scenes } from '../bench/voice/scenes.ts'
import { sizes } from '../bench/voice/size.ts'
import type { Told } from '../bench/voice/spoken.ts'
import { figuresOf } from '../bench/voice/spoken.ts'
import { faultsOf } from '../bench/voice/verdict.ts'
import type { TurnRecord } from '../packages/millrace/src/protocol/index.ts'
import { plainEnv, run } from './processes.ts'
import { root } from './root.ts'

const bench = (...args: string[]) =>
  run(process.execPath, ['bench/voice/main.ts', ...args], { cwd: root, env: plainEnv() })

describe('the benchmark of the voice', () => {
  it('speaks to many at once, in order, and the readers get every word', async () => {
    const { exit, stderr, stdout } = await bench('--tiny')
    expect({ exit, stderr: exit === 0 ? '' : stderr + stdout }).toEqual({ exit: 0, stderr: '' })
    const results: VoiceResults = JSON.parse(readFileSync(join(root, 'bench/.cache/voice.json'), 'utf8'))
    const { speaking = [], sentences, parts = [] } = results
    expect(speaking.map(({ scene }) => scene)).toEqual(scenes.map(({ name }) => name))
    for (const { title, faults, words, turns, firstAudio, threads } of speaking) {
      expect(stdout).toContain(title)
      expect(faults).toEqual([])
      expect(words?.p50).toBeGreaterThan(0)
      const isHeard = scenes.some((scene) => scene.title === title && scene.isHeard)
      expect({ turns, isTold: firstAudio !== undefined }).toEqual({
        turns: isHeard ? 2 * threads : 0,
        isTold: isHeard,
      })
    }
    const [ours, ...others] = sentences?.splitters ?? []
    expect(ours?.right).toEqual({ whole: sentences?.cases, streamed: sentences?.cases })
    for (const { right } of others) expect(right.whole).toBeLessThan(sentences?.cases ?? 0)
    expect(parts.flatMap(({ leftOut = [] }) => leftOut)).toEqual([])
    for (const { figures } of parts) expect(figures?.median).toBeGreaterThan(0)
  })

  it.each([
    [['--only', 'opera'], '--only: there is no "opera", but there are sentences, speaking, parts'],
    [['--fast'], "Unknown option '--fast'"],
  ])('says what is wrong with %j', async (args, message) => {
    const { exit, stdout, stderr } = await bench(...args)
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  it('keeps only whole runs, unless it is told to', () => {
    expect(readOptions([])?.save).toBe(true)
    for (const part of [['--quick'], ['--only', 'parts']]) expect(readOptions(part)?.save).toBe(false)
    expect(readOptions(['--quick', '--save'])?.save).toBe(true)
  })
})

describe('what a listener of the benchmark is told', () => {
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

  function told(tell: (check: AudioCheck) => void): readonly string[] {
    const check = audioCheck()
    begin(check)
    tell(check)
    return check.faults
  }

  it('is right if it is whole', () => {
    const faults = told((check) => {
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
    ['lacks a frame', (check) => audio(check, 1, 0), 'frame 1 came where 0 was next'],
    ['has a gap', (check) => audio(check, 0, 50), 'audio of 50 came where 0 was next'],
    ['is of another turn', (check) => audio(check, 0, 0, 2), 'audio of turn 2 came in turn 1'],
    ['leaves words out', (check) => sentence(check, 1, 0, 10), 'is out of order'],
    [
      'is said twice',
      (check) => {
        sentence(check, 1, 0)
        sentence(check, 1, 0)
      },
      'is out of order',
    ],
    [
      'is in the wrong order',
      (check) => {
        sentence(check, 2, 0)
        sentence(check, 1, 0)
      },
      'round 1 was spoken late',
    ],
    ['is misplaced', (check) => sentence(check, 1, 7), 'a sentence is at 7, where 0 is next'],
    ['ends early', (check) => end(check, 0), 'turn 1 ended without'],
    ['is shorter than it says', (check) => end(check, 5), 'turn 1 has 5 samples, and 0 came'],
    ['begins anew', (check) => begin(check), 'turn 1 came after turn 1'],
    ['fails', (check) => check.takeEvent({ type: 'voice_error', message: 'no' }), 'the voice said no'],
    ['is hushed', (check) => check.takeEvent({ type: 'voice_hush', turn: 1 }), 'there was a voice_hush'],
  ])('is reported when it %s', (_, tell, fault) => {
    expect(told(tell)).toContainEqual(expect.stringContaining(fault))
  })
})

describe('a scene of the benchmark', () => {
  const size = { ...sizes.tiny.speaking, threads: 1, turns: 1 }
  const [, spoken, , hanging] = scenes
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
    wordsHeard: 7,
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
  const beside = { thread: 'b0', marks: [[answerChars, 125]] as const, faults: [] }
  const said = { t0: [[answerChars, 120]], b0: [[answerChars, 120]] } as const
  const told: Told = { said, read: [reader, beside], heard: [listener] }

  it('is well if all was read and heard', () => {
    expect(spoken && faultsOf(spoken, size, told)).toEqual([])
    const { words, beside, firstAudio, turns, silence } = figuresOf(told)
    expect({ words: words?.max, beside: beside?.max, first: firstAudio?.max, turns }).toEqual({
      words: 10,
      beside: 5,
      first: 20,
      turns: 1,
    })
    expect([silence.played?.max, silence.recorded?.max]).toEqual([40, 35])
  })

  it.each<[string, Partial<Told>, string]>([
    [
      'the model was cut off',
      { said: { ...said, t0: [[5, 120]] } },
      'the model came to its end in 1 of 2 threads',
    ],
    ['a reader lacks words', { read: [{ ...reader, marks: [[5, 130]] }] }, 't0, a reader: read 5 of'],
    ['a reader was cut off', { read: [{ ...reader, faults: ['gone'] }] }, 't0, a reader: gone'],
    ['a turn was not heard', { heard: [{ ...listener, records: [] }] }, 't0, a listener: heard 0 of 1 turns'],
    [
      'a word was not heard',
      { heard: [{ ...listener, records: [{ ...record, wordsHeard: 6 }] }] },
      't0, a listener: has on record',
    ],
    ['audio was lost', { heard: [{ ...listener, faults: ['a gap'] }] }, 't0, a listener: a gap'],
  ])('is not well if %s', (_, wrong, fault) => {
    expect(spoken && faultsOf(spoken, size, { ...told, ...wrong })).toEqual([expect.stringContaining(fault)])
  })

  it('expects nothing of a voice that hangs', () => {
    expect(hanging && faultsOf(hanging, size, { ...told, heard: [{ ...listener, records: [] }] })).toEqual([])
  })
})

describe('the parts of the benchmark of the voice', () => {
  it('play as fast as the clock goes, and wait where nothing is there', () => {
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

  it('count a delay for each word, however words were joined', () => {
    const said = [
      [3, 10],
      [6, 20],
      [9, 30],
    ] as const
    expect(
      delaysOf(said, [
        [6, 25],
        [9, 31],
      ]),
    ).toEqual([15, 5, 1])
    expect(delaysOf(said, [[3, 12]])).toEqual([2])
    expect(timeOf(said, 4)).toBe(20)
    expect(timeOf(said, 10)).toBeUndefined()
  })

  it('write prose of any length, the same every time', () => {
    expect(prose(1000)).toHaveLength(1000)
    expect(prose(2000).slice(0, 1000)).toBe(prose(1000))
    expect([...pieces('abcdefg', 3)]).toEqual(['abc', 'def', 'g'])
  })

  it('put their tables between the markers of a page, again and again', () => {
    const split = (name: string, ms: number) => ({
      name,
      title: name,
      texts: [{ chars: 1000, ms }],
      right: { whole: 9, streamed: 8 },
    })
    const results: VoiceResults = {
      version: 1,
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
      parts: [{ title: 'flite', unit: 'ms', leftOut: 'it is not there' }],
    }
    const page = '# Bench\n\n<!-- voice -->\nyesterday\n<!-- /voice -->\n\nend\n'
    const once = withVoice(page, markdown(results)) ?? ''
    expect(once).toContain('Node 24.0.0, flite 1.2.3, two cores.')
    expect(once).toContain('| **ours** | **2.00 ms** | **500,000** | **9** | **8** |')
    expect(once).toContain('| other | 5.00 ms 2.50× | 200,000 | 9 | 8 |')
    expect(once).toContain('- flite: left out, it is not there')
    expect(once).not.toContain('yesterday')
    expect(withVoice(once, markdown(results))).toBe(once)
    expect(withVoice('# Bench', '')).toBeUndefined()
  })
})
