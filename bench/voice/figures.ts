import type { TurnRecord } from '../../packages/millrace/src/protocol/voice.ts'
import type { Usage } from '../harness/answer.ts'
import { type Delays, delaysOf } from '../harness/measure.ts'
import type { HeardThread, ReadThread } from './clients.ts'
import { isUnspoken, type SpeakingSize, threadNames, type VoiceScenario } from './part.ts'
import { answerChars, firstSentenceChars, secondSentenceChars, sentenceCount } from './texts.ts'

/**
 * When the text up to this many characters was said or heard, by a clock that all processes share.
 */
export type Mark = readonly [chars: number, ms: number]

/** The monotonic clock, which all processes of a machine share. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

/** When this many characters had arrived. Marks are in order. */
export function timeOf(marks: readonly Mark[], chars: number): number | undefined {
  return marks.find(([end]) => end >= chars)?.[1]
}

/** The delay of each word from model to client. Words that never arrived have none. */
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

/** The figures of a scenario. Times are milliseconds, sizes bytes. */
export interface Spoken {
  readonly scenario: VoiceScenario['name']
  readonly title: string
  readonly threads: number
  /** Clients that only read. */
  readonly readers: number
  /** From model to reading client: in spoken threads, and in unspoken threads at the same time. */
  readonly words: Delays | undefined
  readonly unspoken: Delays | undefined
  /** Turns that were heard to the end, and the most that played at the same time. */
  readonly turns: number
  readonly atOnce: number
  /** From the certain end of the first sentence to its first audio at the client. */
  readonly firstAudio: Delays | undefined
  /** Turns with audio before the second sentence was complete. */
  readonly early: number
  /** The most audio that a client had buffered. */
  readonly aheadMs: number
  /** Silence within a turn: at the client, and in the server's record. */
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
  /** Everything that was lost, repeated or out of order. */
  readonly faults: readonly string[]
}

export interface Received {
  readonly said: Readonly<Record<string, readonly Mark[]>>
  readonly read: readonly ReadThread[]
  readonly heard: readonly HeardThread[]
}

export interface Reading {
  readonly now: number
  readonly server: Usage
  readonly clients: Usage
}

/** The figures of what the clients received. */
export function figuresOf({ said, read, heard }: Received) {
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
    words: words((thread) => !isUnspoken(thread)),
    unspoken: words(isUnspoken),
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

/** What is wrong with what clients received, one line for each client. */
export function faultsOf({ isHeard }: VoiceScenario, size: SpeakingSize, received: Received): string[] {
  const { turns } = size
  const threads = threadNames(size).length
  const said = Object.values(received.said).filter((marks) => marks.at(-1)?.[0] === turns * answerChars)
  return [
    ...(said.length === threads ? [] : [`the model finished in ${said.length} of ${threads} threads`]),
    ...received.read.flatMap((one) => faultsOfReader(one, turns)),
    ...(isHeard ? received.heard.flatMap((one) => faultsOfListener(one, turns)) : []),
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
      .map((record) => `has the record ${JSON.stringify(record)}`),
  ]
  return wrong.length === 0 ? [] : [`${thread}, a listener: ${wrong.join(', ')}`]
}

const isWhole = ({ sentences, failed, audioMs, playedMs, words, wordsPlayed }: TurnRecord) =>
  failed === 0 && sentences === sentenceCount && playedMs === audioMs && wordsPlayed === words
