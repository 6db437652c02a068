import { format } from 'node:util'
import type { DiagLogger } from '@opentelemetry/api'
import { isObject } from '../protocol/index.ts'
import { otelEndpoints, otelSecrets, withoutCredentials } from './otel-environment.ts'
import type { Output } from './output.ts'
import { cleanLine, cleanText } from './terminal/index.ts'

interface ProblemsOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly tell: Output['tell']
}

/** A collector may give another reason each time. */
const mostProblems = 20

/**
 * What the SDK has to say about itself. A collector that is away fails every export, so each problem is told once. What is below a warning
 * comes only to those who have set OTEL_LOG_LEVEL, all of it.
 */
export function otelProblems({ env, tell }: ProblemsOptions): DiagLogger {
  const told = new Set<string>()
  const endpoints = otelEndpoints(env)
  // The longest first: one may be a part of another.
  const secrets = otelSecrets(env).toSorted((one, other) => other.length - one.length)

  function plain(text: string): string {
    const bare = endpoints.reduce((rest, url) => rest.replaceAll(url, () => withoutCredentials(url)), text)
    const open = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[key]'), bare)
    return cleanText(open.replace(/\w+:\/\/[^\s'"]+/g, withoutCredentials))
  }

  function once(message: string, ...more: unknown[]): void {
    // It is what was asked for, and metrics are sent all the same.
    if (/_EXPORTER contains "none"/.test(message) || told.size >= mostProblems) return
    // What a collector answers is no line of ours.
    const text = cleanLine(plain(reasonOf(message, more)))
    // How many and how long is another number each time.
    const problem = text.replace(/\d+/g, '#')
    if (told.has(problem)) return
    told.add(problem)
    tell(`telemetry: ${text} (told once; serving goes on)`)
  }

  const always = (message: string, ...more: unknown[]) =>
    tell(`telemetry: ${plain(format(message, ...more))}`)
  return { error: once, warn: once, info: always, debug: always, verbose: always }
}

/**
 * Why, in a line. Errors come as JSON with all their fields, among them the answer's body, which is the collector's to write and may
 * hold anything; those of metrics are wrapped up in another.
 */
function reasonOf(message: string, more: readonly unknown[]): string {
  const error = more.find((one) => one instanceof Error) ?? parsed(message)
  if (!isObject(error)) return format(message, ...more)
  const { code } = error
  const words = String(error.message ?? '').replace(
    /^PeriodicExportingMetricReader: metrics export failed \(error (?:\w*Error: )?(.*)\)$/s,
    '$1',
  )
  // Of a host with two addresses there is only a code.
  return words || String(code ?? error.name ?? 'something went wrong')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
