import { setTimeout as delay } from 'node:timers/promises'
import type { Telemetry } from '../protocol/index.ts'
import { messageOf } from '../protocol/index.ts'
import { otelDefaults, otelDestinations, otelOptions } from './otel-environment.ts'
import { otelProblems } from './otel-problems.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'
import { readVersion } from './version.ts'

interface ServedOtel {
  readonly telemetry: Telemetry
  /** Where it sends to, in words. */
  readonly says: string
  /** Sends what is left, if somebody takes it soon. Never rejects. */
  close(): Promise<void>
}

/** A collector that does not answer must not keep anybody from leaving. */
const patienceMs = 5000

/**
 * What `--otel` stands for: the SDK of OpenTelemetry, as the standard OTEL_* variables say. Rejects with `invalid_input` if a variable
 * makes no sense or a package is missing.
 */
export async function servedOtel({ tell }: Pick<Output, 'tell'>): Promise<ServedOtel> {
  const { env } = process
  const options = otelOptions(env)
  const says = otelDestinations(env)
  const { NodeSDK, diag, DiagLogLevel, otel } = await loadOpenTelemetry()
  const problems = otelProblems({ env, tell })
  const level = DiagLogLevel[(env.OTEL_LOG_LEVEL?.trim().toUpperCase() ?? '') as keyof typeof DiagLogLevel]
  diag.setLogger(problems, { logLevel: level ?? DiagLogLevel.WARN, suppressOverrideMessage: true })
  const sdk = withVariables(otelDefaults(env, { version: readVersion() }), () => {
    const made = new NodeSDK()
    made.start()
    return made
  })
  return {
    telemetry: otel(options),
    says,
    async close() {
      const sent = sdk.shutdown().catch((error: unknown) => {
        problems.error(messageOf(error), error)
        tell('telemetry: what was left could not be sent, and is lost')
      })
      // The process leaves right after that: nobody needs to call the clock off.
      const late = delay(patienceMs, 'late' as const)
      if ((await Promise.race([sent, late])) === 'late')
        tell(`telemetry: nobody has taken what was left within ${patienceMs / 1000} s; it is lost`)
    },
  }
}

/** Only now: whoever serves without `--otel` has none of it, and need not have it installed. */
async function loadOpenTelemetry() {
  const needs = { flag: '--otel', install: '@millrace/otel @opentelemetry/sdk-node' }
  const { NodeSDK } = await loadPackage(() => import('@opentelemetry/sdk-node'), needs)
  const { diag, DiagLogLevel } = await loadPackage(() => import('@opentelemetry/api'), needs)
  const { otel } = await loadPackage(() => import('@millrace/otel'), needs)
  return { NodeSDK, diag, DiagLogLevel, otel }
}

/** The SDK reads its variables while it starts. Afterwards they are as before: what the tools start is not ours to tell about. */
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
