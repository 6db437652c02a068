import { setTimeout as delay } from 'node:timers/promises'
import type { Telemetry } from '../protocol/index.ts'
import { messageOf } from '../protocol/index.ts'
import { otelDefaults, otelDestinations, otelOptions } from './otel-environment.ts'
import { otelProblems } from './otel-problems.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'
import { readVersion } from './version.ts'

interface RunningOtel {
  readonly telemetry: Telemetry
  /** Where it sends to, as a sentence. */
  readonly destinations: string
  /** Sends the remaining data, within `closeTimeoutMs`. Never rejects. */
  close(): Promise<void>
}

/** A collector that does not respond must not keep the server from exiting. */
const closeTimeoutMs = 5000

/**
 * Starts the OpenTelemetry SDK for `--otel`, configured by the standard OTEL_* variables. Rejects with
 * `invalid_input` if a variable is invalid or a package is missing.
 */
export async function startOtel({ note }: Pick<Output, 'note'>): Promise<RunningOtel> {
  const { env } = process
  const options = otelOptions(env)
  const destinations = otelDestinations(env)
  const { NodeSDK, diag, DiagLogLevel, otel } = await loadOpenTelemetry()
  const problems = otelProblems({ env, note })
  const level = DiagLogLevel[(env.OTEL_LOG_LEVEL?.trim().toUpperCase() ?? '') as keyof typeof DiagLogLevel]
  diag.setLogger(problems, { logLevel: level ?? DiagLogLevel.WARN, suppressOverrideMessage: true })
  const sdk = withVariables(otelDefaults(env, { version: readVersion() }), () => {
    const made = new NodeSDK()
    made.start()
    return made
  })
  return {
    telemetry: otel(options),
    destinations,
    async close() {
      const sent = sdk.shutdown().catch((error: unknown) => {
        problems.error(messageOf(error), error)
        note('telemetry: the remaining data could not be sent and is lost')
      })
      // The process exits right after this, so the timer is not cleared.
      const late = delay(closeTimeoutMs, 'late' as const)
      if ((await Promise.race([sent, late])) === 'late')
        note(
          `telemetry: the collector did not respond within ${closeTimeoutMs / 1000} s; the remaining data is lost`,
        )
    },
  }
}

/** Loaded on demand: without `--otel` these packages need not be installed. */
async function loadOpenTelemetry() {
  const needs = { flag: '--otel', install: '@millrace/otel @opentelemetry/sdk-node' }
  const { NodeSDK } = await loadPackage(() => import('@opentelemetry/sdk-node'), needs)
  const { diag, DiagLogLevel } = await loadPackage(() => import('@opentelemetry/api'), needs)
  const { otel } = await loadPackage(() => import('@millrace/otel'), needs)
  return { NodeSDK, diag, DiagLogLevel, otel }
}

/**
 * The SDK reads its variables at start. They are then restored, so that processes of tools do not
 * inherit them.
 */
function withVariables<Value>(
  variables: Readonly<Record<string, string | undefined>>,
  work: () => Value,
): Value {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  const set = ([name, value]: readonly [string, string | undefined]) => {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  Object.entries(variables).forEach(set)
  try {
    return work()
  } finally {
    before.forEach(set)
  }
}
