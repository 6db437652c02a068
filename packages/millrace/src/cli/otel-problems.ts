import { format } from 'node:util'
import type { DiagLogger } from '@opentelemetry/api'
import { isObject } from '../protocol/index.ts'
import { otelEndpoints, otelSecrets, withoutCredentials } from './otel-environment.ts'
import type { Output } from './output.ts'
import { cleanLine, cleanText } from './terminal/index.ts'

interface ProblemsOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly note: Output['note']
}

/** A collector might fail with a different reason each time. */
const maxProblems = 20

/**
 * Prints the SDK's own messages. An unreachable collector fails every export, so each problem is
 * reported once. Messages below a warning are all printed, if OTEL_LOG_LEVEL is set.
 */
export function otelProblems({ env, note }: ProblemsOptions): DiagLogger {
  const reported = new Set<string>()
  const endpoints = otelEndpoints(env)
  // Longest first: one may be part of another.
  const secrets = otelSecrets(env).toSorted((one, other) => other.length - one.length)

  function plain(text: string): string {
    const bare = endpoints.reduce((rest, url) => rest.replaceAll(url, () => withoutCredentials(url)), text)
    const open = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[key]'), bare)
    return cleanText(open.replace(/\w+:\/\/[^\s'"]+/g, withoutCredentials))
  }

  function once(message: string, ...more: unknown[]): void {
    // The user asked for this, and metrics are still sent.
    if (/_EXPORTER contains "none"/.test(message) || reported.size >= maxProblems) return
    // The collector's response must not add lines to our output.
    const text = cleanLine(plain(reasonOf(message, more)))
    // Counts and durations differ each time.
    const problem = text.replace(/\d+/g, '#')
    if (reported.has(problem)) return
    reported.add(problem)
    note(`telemetry: ${text} (reported once; the server keeps running)`)
  }

  const always = (message: string, ...more: unknown[]) =>
    note(`telemetry: ${plain(format(message, ...more))}`)
  return { error: once, warn: once, info: always, debug: always, verbose: always }
}

/**
 * The reason, in one line. The SDK passes errors as JSON with all their fields, including the body of
 * the response, which may contain anything. Errors of metrics are wrapped in another error.
 */
function reasonOf(message: string, more: readonly unknown[]): string {
  const error = more.find((one) => one instanceof Error) ?? parsed(message)
  if (!isObject(error)) return format(message, ...more)
  const { code } = error
  const reason = String(error.message ?? '').replace(
    /^PeriodicExportingMetricReader: metrics export failed \(error (?:\w*Error: )?(.*)\)$/s,
    '$1',
  )
  // The error of a host with two addresses has only a code.
  return reason || String(code ?? error.name ?? 'unknown error')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
