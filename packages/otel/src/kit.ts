import type { Tracer } from '@opentelemetry/api'
import type { Model } from 'millrace'
import type { ContentWriter } from './content.ts'
import type { Instruments } from './instruments.ts'
import type { Names } from './model-names.ts'

/** What all runs of one `otel()` share. */
export interface Kit {
  readonly tracer: Tracer
  /** Those of the provider that is registered now. */
  readonly instruments: () => Instruments
  /** Absent if what was said stays off the spans. */
  readonly content: ContentWriter | undefined
  /** Whether trace headers go to the providers of models. */
  readonly headers: boolean
  readonly names: (model: Model) => Names
}
