import { describe, expect, test } from 'vitest'
import { otelDefaults, otelDestinations, otelOptions } from './otel-environment.ts'

describe('what the environment says about telemetry', () => {
  test.each([
    ['true', true],
    ['SPAN_ONLY', true],
    ['span_and_event', true],
    ['EVENT_ONLY', false],
    ['NO_CONTENT', false],
    ['', undefined],
  ])('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=%s means content: %s', (word, content) => {
    const env = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: word }
    expect(otelOptions(env)).toEqual({ content, conventions: undefined, headers: undefined })
  })

  test('the names of metrics and the headers of model calls are chosen by variables of our own', () => {
    expect(otelOptions({ MILLRACE_OTEL_CONVENTIONS: 'both', MILLRACE_OTEL_TRACE_HEADERS: 'true' })).toEqual({
      content: undefined,
      conventions: 'both',
      headers: true,
    })
  })

  test.each([
    'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
    'MILLRACE_OTEL_CONVENTIONS',
    'MILLRACE_OTEL_TRACE_HEADERS',
  ])('a word that %s does not know is refused', (name) => {
    expect(() => otelOptions({ [name]: 'toString' })).toThrow(
      new RegExp(`^${name} takes .*, not 'toString'$`),
    )
  })

  test('traces and metrics are sent and logs are not, unless the user wants it otherwise', () => {
    expect(otelDefaults({}, { version: '1.2.3' })).toMatchObject({
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=millrace,service.version=1.2.3',
    })
    const own = {
      OTEL_TRACES_EXPORTER: 'zipkin',
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_LOGS_EXPORTER: 'console',
      OTEL_NODE_RESOURCE_DETECTORS: 'all',
    }
    expect(otelDefaults(own, { version: '1.2.3' })).toMatchObject(own)
    // The last one of a name is the one that counts.
    expect(
      otelDefaults({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=mine' }, { version: '1.2.3' }),
    ).toMatchObject({
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=millrace,service.version=1.2.3,service.name=mine',
    })
  })

  test.each([
    [{}, 'sends traces and metrics to http://localhost:4318'],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'sends traces and metrics to http://localhost:4317'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:p@ss@otel.example/in?key=k#x' },
      'sends traces and metrics to https://otel.example/in',
    ],
    [
      { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://m:1/v1/metrics', OTEL_TRACES_EXPORTER: 'console' },
      'sends traces to console, metrics to http://m:1/v1/metrics',
    ],
    [{ OTEL_METRICS_EXPORTER: 'none' }, 'sends traces to http://localhost:4318'],
    [
      { OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' },
      'sends no telemetry: OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER are none',
    ],
    [{ OTEL_SDK_DISABLED: 'True' }, 'sends no telemetry: OTEL_SDK_DISABLED is true'],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: 'otel.example:4317' },
      'sends traces and metrics to otel.example:4317',
    ],
  ])('with %j it %s', (env, says) => {
    expect(otelDestinations(env)).toBe(says)
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', 'localhost:4318'],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'me:key@collector', 'collector'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://', 'http://'],
  ])('%s=%s is no URL, and nothing would come there', (name, value, shown) => {
    expect(() => otelDestinations({ [name]: value })).toThrow(
      `${name} takes a URL, such as http://localhost:4318, not '${shown}'`,
    )
  })
})
