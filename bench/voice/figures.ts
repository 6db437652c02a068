import type { TurnRecord } from '../../packages/millrace/src/protocol/voice.ts'
import type { Usage } from '../harness/answer.ts'
import { type Delays, delaysOf } from '../harness/measure.ts'
import type { HeardThread, ReadThread } from './clients.ts'
import { isBeside, type Scene, type SpeakingSize, threadNames } from './part.ts'
import { answerChars, firstSentenceChars, secondSentenceChars, sentenceCount } from './texts.ts'

/** When something was said or heard: all characters up to here, by a clock that all processes share. */
export type Mark = readonly [chars: number, ms: number]

/** The monotonic clock, which is one for all processes of a machine. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

/** When so many characters were there. Marks are in order. */
export function timeOf(marks: readonly Mark[], chars: number): number | undefined {
  return marks.find(([end]) => end >= chars)?.[1]
}

/** How long each word was under way from who said it to who heard it. What was never heard has no delay. */
export function wordDelays(said: readonly Mark[], heard: readonly Mark[]): number[] {
  const delays: number[] = []
  let at = 0
  for (const [chars, ms] of said) {
    while (at < heard.length && (heard[at]?.[0] ?? 0) < chars) at++
    const mark = heard[at]
    if (!mark) break
    delays.push(mark[1] - ms)
  }
  return delays
}

/** What was measured of a scene. Times are milliseconds, sizes bytes. */
export interface Spoken {
  readonly scene: Scene['name']
  readonly title: string
  readonly threads: number
  /** Clients that only read. */
  readonly readers: number
  /** From when the model said a word to a client that reads: in threads that are spoken, and in those beside them. */
  readonly words: Delays | undefined
  readonly beside: Delays | undefined
  /** Turns that were heard to their end, and how many were played at the same time. */
  readonly turns: number
  readonly atOnce: number
  /** From when the first sentence was over for certain to its first audio at the client. */
  readonly firstAudio: Delays | undefined
  /** In so many turns audio was there before the second sentence was said. */
  readonly early: number
  /** The most audio that a client had and had not played. */
  readonly aheadMs: number
  /** How long it was silent within a turn: to the client, and by the server's record. */
  readonly silence: { readonly played: Delays | undefined; readonly recorded: Delays | undefined }
  readonly cores: { readonly server: number; readonly clients: number }
  /** How late the server's timers were. */
  readonly late: Delays
  readonly memory: {
    readonly start: number
    readonly peak: number
    readonly end: number
    readonly held: number
  }
  /** All that was lost, repeated or out of order; empty if it is well. */
  readonly faults: readonly string[]
}

export interface Told {
  readonly said: Readonly<Record<string, readonly Mark[]>>
  readonly read: readonly ReadThread[]
  readonly heard: readonly HeardThread[]
}

export interface Reading {
  readonly now: number
  readonly server: Usage
  readonly clients: Usage
}

/** What the clients were told, as figures. */
export function figuresOf({ said, read, heard }: Told) {
  const words = (isOurs: (thread: string) => boolean) =>
    delaysOf(
      read.flatMap(({ thread, marks }) => (isOurs(thread) ? wordDelays(said[thread] ?? [], marks) : [])),
    )
  const first = heard.flatMap(({ thread, firstAudio }) =>
    firstAudio.map((at, turn) => {
      const since = (chars: number) =>
        at - (timeOf(said[thread] ?? [], turn * answerChars + chars) ?? Number.NaN)
      return { sinceFirst: since(firstSentenceChars), sinceSecond: since(secondSentenceChars) }
    }),
  )
  const records = heard.flatMap((one) => one.records)
  const recorded = records.map(({ gaps }) => gaps.reduce((sum, { ms }) => sum + ms, 0))
  return {
    readers: read.length,
    words: words((thread) => !isBeside(thread)),
    beside: words(isBeside),
    turns: records.filter(({ outcome }) => outcome === 'completed').length,
    firstAudio: delaysOf(first.map(({ sinceFirst }) => sinceFirst)),
    early: first.filter(({ sinceSecond }) => sinceSecond < 0).length,
    aheadMs: Math.max(0, ...heard.map(({ aheadMs }) => aheadMs)),
    silence: { played: delaysOf(heard.flatMap(({ silence }) => silence)), recorded: delaysOf(recorded) },
  }
}

export function coresOf(before: Reading, after: Reading) {
  const cores = (part: 'server' | 'clients') =>
    (after[part].cpuMs - before[part].cpuMs) / (after.now - before.now)
  return { server: cores('server'), clients: cores('clients') }
}

/** What is wrong with what clients were told, one line for each of them. */
export function faultsOf({ isHeard }: Scene, size: SpeakingSize, told: Told): string[] {
  const { turns } = size
  const threads = threadNames(size).length
  const said = Object.values(told.said).filter((marks) => marks.at(-1)?.[0] === turns * answerChars)
  return [
    ...(said.length === threads ? [] : [`the model came to its end in ${said.length} of ${threads} threads`]),
    ...told.read.flatMap((one) => faultsOfReader(one, turns)),
    ...(isHeard ? told.heard.flatMap((one) => faultsOfListener(one, turns)) : []),
  ]
}

function faultsOfReader({ thread, marks, faults }: ReadThread, turns: number): string[] {
  const [chars, all] = [marks.at(-1)?.[0] ?? 0, turns * answerChars]
  const wrong = [...faults, ...(chars === all ? [] : [`read ${chars} of ${all} characters`])]
  return wrong.length === 0 ? [] : [`${thread}, a reader: ${wrong.join(', ')}`]
}

function faultsOfListener({ thread, records, faults }: HeardThread, turns: number): string[] {
  const wrong = [
    ...faults,
    ...(records.length === turns ? [] : [`heard ${records.length} of ${turns} turns`]),
    ...records
      .filter((record) => !isWhole(record))
      .map((record) => `has on record ${JSON.stringify(record)}`),
  ]
  return wrong.length === 0 ? [] : [`${thread}, a listener: ${wrong.join(', ')}`]
}

const isWhole = ({ sentences, failed, audioMs, playedMs, words, wordsHeard }: TurnRecord) =>
  failed === 0 && sentences === sentenceCount && playedMs === audioMs && wordsHeard === words
