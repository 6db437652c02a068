import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { describe, expect, test } from 'vitest'
import { keptLines, keptLogs } from '../../millrace/src/telemetry/logs.test-kit.ts'
import type { Measured } from './otel.test-kit.ts'
import { keepContext, measured } from './otel.test-kit.ts'
import { key, mark, marks, paths } from './secrets.test-kit.ts'

keepContext()

/** All that an exporter is given of a span. */
function exported({ name, attributes, events, links, status, resource, ...span }: ReadableSpan): string {
  const where = [span.spanContext?.(), span.parentSpanContext, span.instrumentationScope]
  return JSON.stringify([name, attributes, events, links, status, resource.attributes, where])
}

async function everything(seen: Measured): Promise<string> {
  return [...seen.spans().map(exported), JSON.stringify(await seen.metrics())].join('\n')
}

const places = (spans: readonly ReadableSpan[], place: string) =>
  spans
    .map(({ attributes, status }) =>
      place === 'status' ? (status.message ?? '') : String(attributes[place] ?? ''),
    )
    .join('\n')

describe.each(paths)('$name', ({ take, shown }) => {
  test('leaves nothing of what was said in spans, metrics and logs, unless that is wanted', async () => {
    const seen = measured({ conventions: 'both', headers: true })
    const fields = keptLogs()
    const lines = [keptLines({ format: 'json' }), keptLines({ format: 'logfmt' })]
    await take([seen.telemetry, fields.telemetry, ...lines.map(({ telemetry }) => telemetry)])
    const told = [
      await everything(seen),
      JSON.stringify(fields.told),
      ...lines.map((one) => one.lines.join('\n')),
    ]
    expect(fields.told.length).toBeGreaterThan(0)
    for (const text of told) {
      expect(text.length).toBeGreaterThan(2)
      expect(text.match(marks)).toBeNull()
      expect(text).not.toContain(key)
    }
  })

  test('is told where it belongs if that is wanted, and never the key nor bytes', async () => {
    const seen = measured({ content: true })
    const fields = keptLogs({ content: true })
    await take([seen.telemetry, fields.telemetry])
    for (const [place, what] of Object.entries(shown)) {
      const found = places(seen.spans(), place)
      for (const one of what) expect(found, `${one} in ${place}`).toContain(mark(one))
    }
    const all = [await everything(seen), JSON.stringify(fields.told)].join('\n')
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
