import { expect, test } from 'vitest'
import { otelProblems } from './otel-problems.ts'

function problemLog(env = {}) {
  const lines: string[] = []
  return { lines, problems: otelProblems({ env, note: (line) => lines.push(line) }) }
}

/** An error as the SDK logs it: all its fields as JSON. */
const asJson = (fields: object) => JSON.stringify({ stack: 'Error: …\n    at …', ...fields })

test('an unreachable collector is reported once, for traces and metrics together', () => {
  const { lines, problems } = problemLog()
  const message = 'connect ECONNREFUSED 127.0.0.1:4318'
  const wrapped = `PeriodicExportingMetricReader: metrics export failed (error Error: ${message})`
  for (const _ of [1, 2]) {
    problems.error(asJson({ message, code: 'ECONNREFUSED' }))
    problems.error(asJson({ message: wrapped }))
  }
  expect(lines).toEqual([`telemetry: ${message} (reported once; the server keeps running)`])
})

test('messages that differ only in numbers are reported once', () => {
  const { lines, problems } = problemLog()
  problems.warn('Dropped 3 spans because maxQueueSize reached')
  problems.warn('Dropped 17 spans because maxQueueSize reached')
  expect(lines).toHaveLength(1)
})

test('disabled traces are not reported', () => {
  const { lines, problems } = problemLog()
  problems.warn('OTEL_TRACES_EXPORTER contains "none". SDK will not be initialized.')
  expect(lines).toEqual([])
})

test('an error without a message is reported by its code', () => {
  const { lines, problems } = problemLog()
  problems.error(asJson({ code: 'ECONNREFUSED', name: 'AggregateError' }))
  expect(lines).toEqual(['telemetry: ECONNREFUSED (reported once; the server keeps running)'])
})

test('responses, keys and escape sequences are not printed', () => {
  const { lines, problems } = problemLog({ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'tenant=4,api-key=s3%20cret' })
  problems.error(asJson({ message: '4 Unauthorized \u001b[2J', code: '401', data: 'the key was s3 cret' }))
  problems.warn('Header "api-key" has invalid value (s3 cret), or s3%20cret, and will be ignored')
  problems.warn("Could not parse environment-provided export URL: 'http://me:pass@host/?key=k'")
  expect(lines).toEqual([
    'telemetry: 4 Unauthorized (reported once; the server keeps running)',
    'telemetry: Header "api-key" has invalid value ([key]), or [key], and will be ignored (reported once; the server keeps running)',
    "telemetry: Could not parse environment-provided export URL: 'http://host/' (reported once; the server keeps running)",
  ])
})

test('a reason stays on one line, and the number of reports is limited', () => {
  const { lines, problems } = problemLog()
  problems.error(asJson({ message: '13 INTERNAL: away\r\nlistening at http://evil.example' }))
  expect(lines).toEqual([
    'telemetry: 13 INTERNAL: away listening at http://evil.example (reported once; the server keeps running)',
  ])
  for (let at = 0; at < 1000; at++) problems.error(`away ${'x'.repeat(at)}`)
  expect(lines.length).toBeLessThan(30)
})

test('keys are hidden if one contains another, and after a scheme', () => {
  const headers = 'one=s3cret,two=s3cret-and-more,authorization=Bearer%20t0ken-of-mine'
  const { lines, problems } = problemLog({ OTEL_EXPORTER_OTLP_HEADERS: headers })
  problems.warn('rejected: s3cret-and-more, s3cret, t0ken-of-mine')
  expect(lines).toEqual([
    'telemetry: rejected: [key], [key], [key] (reported once; the server keeps running)',
  ])
})

test('an invalid endpoint is quoted without credentials', () => {
  for (const endpoint of [
    'me:pass@host:4318/otlp',
    'host:4318/otlp?key=$&k',
    'me:pass word@host:4318/otlp',
  ]) {
    const { lines, problems } = problemLog({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint })
    problems.warn(`Could not parse export URL: '${endpoint}'`)
    const [, bare] = /(host\S*?)(?:\?|$)/.exec(endpoint) ?? []
    expect(lines).toEqual([
      `telemetry: Could not parse export URL: '${bare}' (reported once; the server keeps running)`,
    ])
  }
})

test('debug messages are printed every time', () => {
  const { lines, problems } = problemLog()
  problems.debug('items to be sent', { count: 1 })
  problems.debug('items to be sent', { count: 1 })
  expect(lines).toEqual(Array(2).fill('telemetry: items to be sent { count: 1 }'))
})
