import { Console } from 'node:console'
import { Writable } from 'node:stream'
import type { Telemetry } from 'millrace'
import type { WayName } from './ways.ts'

/** Somebody who looks on at the runs of this process. */
export interface Looking {
  readonly telemetry?: Telemetry
  /** Sends what spans have been kept back. */
  sendSpans(): Promise<void>
  /** Sends everything that has been kept back. */
  flush(): Promise<void>
  /** Lines that were written. */
  readonly lines?: () => number
}

const keepsNothing = { sendSpans: async () => {}, flush: async () => {} }

// Only what is used is loaded: that others are not there is a part of what is measured.
const open: Readonly<Record<WayName, (receiver: string) => Looking | Promise<Looking>>> = {
  nobody: () => keepsNothing,
  otel: async (receiver) => ({ ...(await sdk(receiver)), telemetry: await otel() }),
  async 'by-hand'(receiver) {
    const sending = await sdk(receiver)
    const { byHand } = await import('./by-hand.ts')
    return { ...sending, telemetry: byHand() }
  },
  async json(receiver) {
    const sending = await sdk(receiver, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })
    return { ...sending, telemetry: await otel() }
  },
  async tenth(receiver) {
    const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' }
    return { ...(await sdk(receiver, sampler)), telemetry: await otel() }
  },
  async 'without-chunks'(receiver) {
    const { AggregationType } = await import('@opentelemetry/sdk-metrics')
    const aggregation = { type: AggregationType.DROP } as const
    const sending = await sdk(receiver, {}, [{ instrumentName: '*.time_per_output_chunk', aggregation }])
    return { ...sending, telemetry: await otel() }
  },
  async content(receiver) {
    return { ...(await sdk(receiver)), telemetry: await otel({ content: true }) }
  },
  'no-sdk': async () => ({ ...keepsNothing, telemetry: await otel() }),
  async logs() {
    const { logs } = await import('millrace')
    let count = 0
    const nowhere = new Writable({
      write(_, __, done) {
        count++
        done()
      },
    })
    return { ...keepsNothing, telemetry: logs(new Console(nowhere)), lines: () => count }
  },
}

export const look = async (way: WayName, receiver: string) => open[way](receiver)

type OtelOptions = Parameters<typeof import('@millrace/otel').otel>[0]
type SdkOptions = NonNullable<ConstructorParameters<typeof import('@opentelemetry/sdk-node').NodeSDK>[0]>

async function otel(options?: OtelOptions): Promise<Telemetry> {
  return (await import('@millrace/otel')).otel(options)
}

/**
 * The official SDK with its own defaults: every trace is sampled, spans are sent in batches, contexts are kept in AsyncLocalStorage,
 * everything goes out as Protocol Buffers over HTTP.
 */
async function sdk(
  receiver: string,
  environment: Readonly<Record<string, string>> = {},
  views: SdkOptions['views'] = [],
): Promise<Omit<Looking, 'telemetry'>> {
  Object.assign(process.env, environment, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver })
  const { NodeSDK } = await import('@opentelemetry/sdk-node')
  const { metrics, trace } = await import('@opentelemetry/api')
  new NodeSDK({ serviceName: 'millrace-bench', views }).start()
  const sendSpans = () => flushed(trace.getTracerProvider())
  return {
    sendSpans,
    async flush() {
      await sendSpans()
      await flushed(metrics.getMeterProvider())
    },
  }
}

type Flushed = { forceFlush(): Promise<void> }
type Standing = { getDelegate(): unknown }

/** The one that was registered stands behind another one, for traces. */
async function flushed(provider: unknown): Promise<void> {
  const one = provider as Partial<Flushed & Standing>
  if (one.forceFlush) await one.forceFlush()
  else if (one.getDelegate) await flushed(one.getDelegate())
}
