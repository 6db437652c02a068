import type { OtelOptions } from '@millrace/otel'
import { invalidInput } from '../protocol/index.ts'

// What the environment says about telemetry. A variable that is empty is not there, as the specification of OpenTelemetry has it.

type Env = Readonly<Record<string, string | undefined>>

const contentVariable = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'

/** How much is told, and by which names. Throws `invalid_input` at a word that means nothing. */
export function otelOptions(env: Env): OtelOptions {
  return {
    // The words of other instrumentations of generative AI. There are no events here: what is for those alone is nowhere.
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
  throw invalidInput('millrace', `${name} takes ${Object.keys(choices).join(', ')}, not '${word}'`)
}

/** What is meant where the user has not said otherwise; undefined is not for the SDK to see. */
export function otelDefaults(env: Env, { version }: { version: string }): Record<string, string | undefined> {
  const own = `service.name=millrace,service.version=${version}`
  const theirs = given(env, 'OTEL_RESOURCE_ATTRIBUTES')
  return {
    // The last one of a name counts, and OTEL_SERVICE_NAME more than all.
    OTEL_RESOURCE_ATTRIBUTES: theirs === undefined ? own : `${own},${theirs}`,
    OTEL_TRACES_EXPORTER: exporters(env, 'TRACES').join(','),
    OTEL_METRICS_EXPORTER: exporters(env, 'METRICS').join(','),
    // We make none: for `logs()` see the flag `--verbose`.
    OTEL_LOGS_EXPORTER: given(env, 'OTEL_LOGS_EXPORTER') ?? 'none',
    // All but that of the process: it tells the command line, and with it the token of the server.
    OTEL_NODE_RESOURCE_DETECTORS: given(env, 'OTEL_NODE_RESOURCE_DETECTORS') ?? 'env,host,os,serviceinstance',
    // The SDK would write to stdout then, past whoever listens to its problems.
    OTEL_LOG_LEVEL: undefined,
  }
}

/** Where things go, without credentials. Throws `invalid_input` if that is no URL. */
export function otelDestinations(env: Env): string {
  if (given(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true')
    return 'sends no telemetry: OTEL_SDK_DISABLED is true'
  const [traces, metrics] = [placesOf(env, 'TRACES'), placesOf(env, 'METRICS')]
  if (traces === undefined && metrics === undefined)
    return 'sends no telemetry: OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER are none'
  if (traces === metrics) return `sends traces and metrics to ${traces}`
  return `sends ${[traces && `traces to ${traces}`, metrics && `metrics to ${metrics}`].filter(Boolean).join(', ')}`
}

type Signal = 'TRACES' | 'METRICS'

function placesOf(env: Env, signal: Signal): string | undefined {
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
  // The SDK would take it for a protocol `localhost:`, or send to its own default. gRPC knows addresses of other forms.
  if (protocol !== 'grpc' && !(/^https?:\/\//i.test(url) && URL.canParse(url)))
    throw invalidInput('millrace', `${variable} takes a URL, such as http://localhost:4318, not '${shown}'`)
  return shown
}

/** Who asks is named before the host, and some put a key into the query. */
export function withoutCredentials(url: string): string {
  return url.replace(/^(\w+:\/\/)?[^/]*@/, '$1').replace(/[?#].*$/, '')
}

const signals = ['', 'TRACES_', 'METRICS_', 'LOGS_']

/** Where things are to go, word for word: also what is no address, which the SDK quotes when it says so. */
export function otelEndpoints(env: Env): string[] {
  return signals.flatMap((signal) => given(env, `OTEL_EXPORTER_OTLP_${signal}ENDPOINT`) ?? [])
}

/** What is sent along to show who we are: none of it is ever told. A value that is short is no key, and may stand anywhere. */
export function otelSecrets(env: Env): string[] {
  return signals.flatMap((signal) =>
    (given(env, `OTEL_EXPORTER_OTLP_${signal}HEADERS`) ?? '').split(',').flatMap((pair) => {
      const value = pair.slice(pair.indexOf('=') + 1).trim()
      const plain = decoded(value)
      // Also without what stands before it, such as `Bearer`.
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
