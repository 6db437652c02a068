import type { OtelOptions } from '@millrace/otel'
import { invalidInput } from '../protocol/index.ts'

// Telemetry settings from the environment. An empty variable counts as unset, as the OpenTelemetry
// specification says.

type Env = Readonly<Record<string, string | undefined>>

const contentVariable = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'

/** What is recorded, and under which names. Throws `invalid_input` on an unknown value. */
export function otelOptions(env: Env): OtelOptions {
  return {
    // The values that other GenAI instrumentations use. We emit no events, so content that is
    // captured for events only is not captured.
    content: choice(env, contentVariable, {
      true: true,
      false: false,
      span_only: true,
      span_and_event: true,
      event_only: false,
      no_content: false,
    }),
    conventions: choice(env, 'MILLRACE_OTEL_CONVENTIONS', {
      current: 'current',
      older: 'older',
      both: 'both',
    } as const),
    headers: choice(env, 'MILLRACE_OTEL_TRACE_HEADERS', { true: true, false: false }),
  }
}

function choice<Value>(env: Env, name: string, choices: Readonly<Record<string, Value>>): Value | undefined {
  const word = given(env, name)
  if (word === undefined) return undefined
  const key = word.toLowerCase()
  if (Object.hasOwn(choices, key)) return choices[key]
  throw invalidInput('millrace', `${name} must be one of ${Object.keys(choices).join(', ')}, not '${word}'`)
}

/** Variables for the SDK: the user's, or our defaults. An undefined one is hidden from the SDK. */
export function otelDefaults(env: Env, { version }: { version: string }): Record<string, string | undefined> {
  const own = `service.name=millrace,service.version=${version}`
  const theirs = given(env, 'OTEL_RESOURCE_ATTRIBUTES')
  return {
    // The last value of an attribute wins, and OTEL_SERVICE_NAME overrides them all.
    OTEL_RESOURCE_ATTRIBUTES: theirs === undefined ? own : `${own},${theirs}`,
    OTEL_TRACES_EXPORTER: exporters(env, 'TRACES').join(','),
    OTEL_METRICS_EXPORTER: exporters(env, 'METRICS').join(','),
    // We send no logs; for `logs()` see the flag `--verbose`.
    OTEL_LOGS_EXPORTER: given(env, 'OTEL_LOGS_EXPORTER') ?? 'none',
    // All but `process`, which would send the command line, and with it the server's token.
    OTEL_NODE_RESOURCE_DETECTORS: given(env, 'OTEL_NODE_RESOURCE_DETECTORS') ?? 'env,host,os,serviceinstance',
    // With a level, the SDK would write to stdout instead of calling our logger.
    OTEL_LOG_LEVEL: undefined,
  }
}

/** Where telemetry is sent, without credentials. Throws `invalid_input` if an endpoint is not a URL. */
export function otelDestinations(env: Env): string {
  if (given(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true')
    return 'not sending telemetry: OTEL_SDK_DISABLED is true'
  const [traces, metrics] = [destinationOf(env, 'TRACES'), destinationOf(env, 'METRICS')]
  if (traces === undefined && metrics === undefined)
    return 'not sending telemetry: OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER are set to none'
  if (traces === metrics) return `sending traces and metrics to ${traces}`
  return `sending ${[traces && `traces to ${traces}`, metrics && `metrics to ${metrics}`].filter(Boolean).join(', ')}`
}

type Signal = 'TRACES' | 'METRICS'

function destinationOf(env: Env, signal: Signal): string | undefined {
  const names = exporters(env, signal).filter((name) => name !== 'none')
  return names.length === 0
    ? undefined
    : names.map((name) => (name === 'otlp' ? endpoint(env, signal) : name)).join(' and ')
}

function exporters(env: Env, signal: Signal): string[] {
  return (given(env, `OTEL_${signal}_EXPORTER`) ?? 'otlp').split(',').map((name) => name.trim())
}

function endpoint(env: Env, signal: Signal): string {
  const nameOf = (what: string) =>
    [`OTEL_EXPORTER_OTLP_${signal}_${what}`, `OTEL_EXPORTER_OTLP_${what}`].find((name) => given(env, name))
  const protocol = given(env, nameOf('PROTOCOL') ?? '')
  const variable = nameOf('ENDPOINT')
  if (variable === undefined) return protocol === 'grpc' ? 'http://localhost:4317' : 'http://localhost:4318'
  const url = given(env, variable) ?? ''
  const shown = withoutCredentials(url)
  // The SDK would read `localhost:` as a URL scheme, or fall back to its default endpoint. gRPC also
  // accepts other forms.
  if (protocol !== 'grpc' && !(/^https?:\/\//i.test(url) && URL.canParse(url)))
    throw invalidInput('millrace', `${variable} must be a URL such as http://localhost:4318, not '${shown}'`)
  return shown
}

/** Credentials may be in front of the host, or in the query. */
export function withoutCredentials(url: string): string {
  return url.replace(/^(\w+:\/\/)?[^/]*@/, '$1').replace(/[?#].*$/, '')
}

const signals = ['', 'TRACES_', 'METRICS_', 'LOGS_']

/** The endpoints exactly as configured, even invalid ones: the SDK quotes them in its messages. */
export function otelEndpoints(env: Env): string[] {
  return signals.flatMap((signal) => given(env, `OTEL_EXPORTER_OTLP_${signal}ENDPOINT`) ?? [])
}

/**
 * The values of the OTLP headers, which must never be printed. Short values are not keys, and might
 * occur anywhere.
 */
export function otelSecrets(env: Env): string[] {
  return signals.flatMap((signal) =>
    (given(env, `OTEL_EXPORTER_OTLP_${signal}HEADERS`) ?? '').split(',').flatMap((pair) => {
      const value = pair.slice(pair.indexOf('=') + 1).trim()
      const plain = decoded(value)
      // Also without a scheme such as `Bearer`.
      return [value, plain, plain.slice(plain.indexOf(' ') + 1)].filter((text) => text.length > 5)
    }),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function given(env: Env, name: string): string | undefined {
  return env[name]?.trim() || undefined
}
