import type { Played } from './player.ts'
import type { Received } from './receiver.ts'
import type { Way } from './ways.ts'
import type { LookedAt } from './works.ts'

/** One that every model call records. */
const someMetric = 'gen_ai.client.inference.duration'
const chunkMetric = 'gen_ai.client.inference.time_per_output_chunk'

/** What was looked at and did not arrive, or arrived and should not have. */
export function faultsOf(work: LookedAt, way: Way, { plays, lines }: Played, received: Received): string[] {
  const { spans, metrics } = received
  const made = plays * work.spans
  const isWhole = spans % work.spans === 0 && spans < made
  const isRight = { all: spans === made, some: isWhole, nothing: spans === 0 }[way.sends]
  const needs = way.sends === 'nothing' ? [] : [someMetric]
  // A short answer may come in one piece.
  const needsChunks = way.sends === 'all' && work.name === 'text' && way.name !== 'without-chunks'
  const lacks = [...needs, ...(needsChunks ? [chunkMetric] : [])].filter((name) => !metrics.includes(name))
  const isTooMuch =
    way.sends === 'nothing'
      ? metrics.length > 0
      : way.name === 'without-chunks' && metrics.includes(chunkMetric)
  return [
    ...(isRight ? [] : [`${spans} spans arrived of ${made}`]),
    ...lacks.map((name) => `no ${name} arrived`),
    ...(isTooMuch ? [`${metrics.join(', ')} arrived`] : []),
    ...(lines === undefined || lines === plays ? [] : [`${lines} lines were written of ${plays} runs`]),
  ]
}
