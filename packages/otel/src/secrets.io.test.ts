import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { describe, expect, test } from 'vitest'
import { recordedLines, recordedLogs } from '../../millrace/src/telemetry/logs.test-kit.ts'
import type { Measured } from './otel.test-kit.ts'
import { measured, useContextManager } from './otel.test-kit.ts'
import { key, mark, marks, scenarios } from './secrets.test-kit.ts'

useContextManager()

/** Everything that an exporter gets of a span. */
function exported({ name, attributes, events, links, status, resource, ...span }: ReadableSpan): string {
  const where = [span.spanContext?.(), span.parentSpanContext, span.instrumentationScope]
  return JSON.stringify([name, attributes, events, links, status, resource.attributes, where])
}

async function everything(seen: Measured): Promise<string> {
  return [...seen.spans().map(exported), JSON.stringify(await seen.metrics())].join('\n')
}

const valuesAt = (spans: readonly ReadableSpan[], location: string) =>
  spans
    .map(({ attributes, status }) =>
      location === 'status' ? (status.message ?? '') : String(attributes[location] ?? ''),
    )
    .join('\n')

describe.each(scenarios)('$name', ({ run, shown }) => {
  test('leaves no content in spans, metrics and logs by default', async () => {
    const seen = measured({ conventions: 'both', headers: true })
    const fields = recordedLogs()
    const lines = [recordedLines({ format: 'json' }), recordedLines({ format: 'logfmt' })]
    await run([seen.telemetry, fields.telemetry, ...lines.map(({ telemetry }) => telemetry)])
    const outputs = [
      await everything(seen),
      JSON.stringify(fields.lines),
      ...lines.map((one) => one.lines.join('\n')),
    ]
    expect(fields.lines.length).toBeGreaterThan(0)
    for (const text of outputs) {
      expect(text.length).toBeGreaterThan(2)
      expect(text.match(marks)).toBeNull()
      expect(text).not.toContain(key)
    }
  })

  test('is recorded in the right place with content: true, but never keys or bytes', async () => {
    const seen = measured({ content: true })
    const fields = recordedLogs({ content: true })
    await run([seen.telemetry, fields.telemetry])
    for (const [location, expected] of Object.entries(shown)) {
      const found = valuesAt(seen.spans(), location)
      for (const one of expected) expect(found, `${one} in ${location}`).toContain(mark(one))
    }
    const all = [await everything(seen), JSON.stringify(fields.lines)].join('\n')
    for (const secret of [
      key,
      mark('bytes'),
      btoa(mark('bytes')),
      mark('header'),
      mark('context'),
      mark('metadata'),
      mark('opaque'),
    ])
      expect(all).not.toContain(secret)
  })
})
