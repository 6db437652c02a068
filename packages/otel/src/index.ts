export type { ContentLocation, Redact } from './content.ts'
export type { Conventions } from './instruments.ts'
export type { OtelOptions } from './otel.ts'
export { otel } from './otel.ts'
