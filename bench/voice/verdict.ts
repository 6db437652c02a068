import type { TurnRecord } from '../../packages/millrace/src/protocol/voice.ts'
import { answerChars, sentenceCount } from './answer.ts'
import type { HeardThread, ReadThread } from './clients.ts'
import type { Scene } from './scenes.ts'
import type { SpeakingSize } from './size.ts'
import { threadNames } from './size.ts'
import type { Told } from './spoken.ts'

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
