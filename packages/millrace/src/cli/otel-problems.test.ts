import { expect, test } from 'vitest'
import { otelProblems } from './otel-problems.ts'

function listening(env = {}) {
  const lines: string[] = []
  return { lines, problems: otelProblems({ env, tell: (line) => lines.push(line) }) }
}

/** As the SDK writes an error: all its fields as JSON. */
const asJson = (fields: object) => JSON.stringify({ stack: 'Error: …\n    at …', ...fields })

test('a collector that is away is told of once, for traces and metrics together', () => {
  const { lines, problems } = listening()
  const message = 'connect ECONNREFUSED 127.0.0.1:4318'
  const wrapped = `PeriodicExportingMetricReader: metrics export failed (error Error: ${message})`
  for (const _ of [1, 2]) {
    problems.error(asJson({ message, code: 'ECONNREFUSED' }))
    problems.error(asJson({ message: wrapped }))
  }
  expect(lines).toEqual([`telemetry: ${message} (told once; serving goes on)`])
})

test('another number makes no other problem', () => {
  const { lines, problems } = listening()
  problems.warn('Dropped 3 spans because maxQueueSize reached')
  problems.warn('Dropped 17 spans because maxQueueSize reached')
  expect(lines).toHaveLength(1)
})

test('to send no traces is what was asked for, and no problem', () => {
  const { lines, problems } = listening()
  problems.warn('OTEL_TRACES_EXPORTER contains "none". SDK will not be initialized.')
  expect(lines).toEqual([])
})

test('a host with several addresses has only a code', () => {
  const { lines, problems } = listening()
  problems.error(asJson({ code: 'ECONNREFUSED', name: 'AggregateError' }))
  expect(lines).toEqual(['telemetry: ECONNREFUSED (told once; serving goes on)'])
})

test('neither what a collector answers nor a key is told, nor does an escape sequence get through', () => {
  const { lines, problems } = listening({ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'tenant=4,api-key=s3%20cret' })
  problems.error(asJson({ message: '4 Unauthorized \u001b[2J', code: '401', data: 'the key was s3 cret' }))
  problems.warn('Header "api-key" has invalid value (s3 cret), or s3%20cret, and will be ignored')
  problems.warn("Could not parse environment-provided export URL: 'http://me:pass@host/?key=k'")
  expect(lines).toEqual([
    'telemetry: 4 Unauthorized (told once; serving goes on)',
    'telemetry: Header "api-key" has invalid value ([key]), or [key], and will be ignored (told once; serving goes on)',
    "telemetry: Could not parse environment-provided export URL: 'http://host/' (told once; serving goes on)",
  ])
})

test('a reason stays in its line, and one that is another each time is not told for ever', () => {
  const { lines, problems } = listening()
  problems.error(asJson({ message: '13 INTERNAL: away\r\nlistening at http://evil.example' }))
  expect(lines).toEqual([
    'telemetry: 13 INTERNAL: away listening at http://evil.example (told once; serving goes on)',
  ])
  for (let at = 0; at < 1000; at++) problems.error(`away ${'x'.repeat(at)}`)
  expect(lines.length).toBeLessThan(30)
})

test('a key that is a part of another leaves nothing of that, and one behind its scheme is not told either', () => {
  const headers = 'one=s3cret,two=s3cret-and-more,authorization=Bearer%20t0ken-of-mine'
  const { lines, problems } = listening({ OTEL_EXPORTER_OTLP_HEADERS: headers })
  problems.warn('refused: s3cret-and-more, s3cret, t0ken-of-mine')
  expect(lines).toEqual(['telemetry: refused: [key], [key], [key] (told once; serving goes on)'])
})

test('an endpoint that is no address is quoted without what it says of who asks', () => {
  for (const endpoint of [
    'me:pass@host:4318/otlp',
    'host:4318/otlp?key=$&k',
    'me:pass word@host:4318/otlp',
  ]) {
    const { lines, problems } = listening({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint })
    problems.warn(`Could not parse export URL: '${endpoint}'`)
    const [, bare] = /(host\S*?)(?:\?|$)/.exec(endpoint) ?? []
    expect(lines).toEqual([`telemetry: Could not parse export URL: '${bare}' (told once; serving goes on)`])
  }
})

test('what somebody has asked to hear is told as often as it is said', () => {
  const { lines, problems } = listening()
  problems.debug('items to be sent', { count: 1 })
  problems.debug('items to be sent', { count: 1 })
  expect(lines).toEqual(Array(2).fill('telemetry: items to be sent { count: 1 }'))
})
