import type { SpanContext } from '@opentelemetry/api'
import { isTraceContext } from 'millrace/internal'

// W3C Trace Context, https://www.w3.org/TR/trace-context/#traceparent-header:
// version-trace-span-flags, in lower case.

export function writeTrace({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
}

/** Undefined if the text is not a valid trace context. */
export function readTrace(text: string | undefined): SpanContext | undefined {
  if (typeof text !== 'string' || !isTraceContext(text)) return undefined
  const [, traceId = '', spanId = '', flags = ''] = text.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 0x01, isRemote: true }
}
