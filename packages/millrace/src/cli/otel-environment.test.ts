import { describe, expect, test } from 'vitest'
import { otelDefaults, otelDestinations, otelOptions } from './otel-environment.ts'

describe('telemetry settings from the environment', () => {
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

  test('our own variables choose the conventions and the trace headers', () => {
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
  ])('an unknown value of %s is rejected', (name) => {
    expect(() => otelOptions({ [name]: 'toString' })).toThrow(
      new RegExp(`^${name} must be one of .*, not 'toString'$`),
    )
  })

  test('by default traces and metrics are sent, and logs are not', () => {
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
    // The last value of an attribute wins.
    expect(
      otelDefaults({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=mine' }, { version: '1.2.3' }),
    ).toMatchObject({
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=millrace,service.version=1.2.3,service.name=mine',
    })
  })

  test.each([
    [{}, 'sending traces and metrics to http://localhost:4318'],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'sending traces and metrics to http://localhost:4317'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:p@ss@otel.example/in?key=k#x' },
      'sending traces and metrics to https://otel.example/in',
    ],
    [
      { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://m:1/v1/metrics', OTEL_TRACES_EXPORTER: 'console' },
      'sending traces to console, metrics to http://m:1/v1/metrics',
    ],
    [{ OTEL_METRICS_EXPORTER: 'none' }, 'sending traces to http://localhost:4318'],
    [
      { OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' },
      'not sending telemetry: OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER are set to none',
    ],
    [{ OTEL_SDK_DISABLED: 'True' }, 'not sending telemetry: OTEL_SDK_DISABLED is true'],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: 'otel.example:4317' },
      'sending traces and metrics to otel.example:4317',
    ],
  ])('%j: %s', (env, text) => {
    expect(otelDestinations(env)).toBe(text)
  })

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', 'localhost:4318'],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'me:key@collector', 'collector'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://', 'http://'],
  ])('%s=%s is rejected: it is not a URL', (name, value, shown) => {
    expect(() => otelDestinations({ [name]: value })).toThrow(
      `${name} must be a URL such as http://localhost:4318, not '${shown}'`,
    )
  })
})
