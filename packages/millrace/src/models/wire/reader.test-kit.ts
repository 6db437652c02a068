import type { ModelEvent, Usage } from '../../protocol/index.ts'
import type { WireReader } from './stream.ts'

export interface ReadResult<Reader extends WireReader = WireReader> {
  readonly reader: Reader
  readonly events: readonly ModelEvent[]
  readonly error: unknown
  /** Whether the answer is complete. */
  readonly ended: boolean
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly input: unknown }[]
  readonly finish: string | undefined
  readonly usage: Partial<Usage> | undefined
}

/** Reads these frames, up to the end or an error. */
export function readWith<Reader extends WireReader>(
  open: (events: ModelEvent[]) => Reader,
  frames: readonly unknown[],
): ReadResult<Reader> {
  const events: ModelEvent[] = []
  const reader = open(events)
  let error: unknown
  try {
    for (const frame of frames)
      if (!reader.ended) reader.read(typeof frame === 'string' ? frame : JSON.stringify(frame), '')
    reader.end()
  } catch (thrown) {
    error = thrown
  }
  const all = <Type extends ModelEvent['type']>(type: Type) =>
    events.filter((event): event is Extract<ModelEvent, { type: Type }> => event.type === type)
  const wordsOf = (type: 'text' | 'reasoning') =>
    all(type)
      .map(({ text }) => text)
      .join('')
  const [done] = all('done')
  return {
    reader,
    events,
    error,
    ended: reader.ended,
    text: wordsOf('text'),
    reasoning: wordsOf('reasoning'),
    calls: all('tool-call').map(({ callId, name, input }) => ({ callId, name, input })),
    finish: done?.finish,
    usage: done?.usage,
  }
}
