import type { Attributes, Tracer } from '@opentelemetry/api'
import type { Model } from 'millrace'
import type { ContentWriter } from './content.ts'
import type { Instruments } from './instruments.ts'
import type { Names } from './model-names.ts'

/** What all runs of one `otel()` share. */
export interface Kit {
  readonly tracer: Tracer
  /** The instruments of the current meter provider. */
  readonly instruments: () => Instruments
  /** Undefined if content is not recorded. */
  readonly content: ContentWriter | undefined
  /** Whether trace headers are sent to model providers. */
  readonly headers: boolean
  readonly names: (model: Model) => Names
  /** The same object for equal attributes. */
  readonly shared: (attributes: Attributes) => Attributes
}
