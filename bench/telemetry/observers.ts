import { Console } from 'node:console'
import { Writable } from 'node:stream'
import type { Telemetry } from 'millrace'
import type { WayName } from './ways.ts'

/** The telemetry of this process. */
export interface Observer {
  readonly telemetry?: Telemetry
  /** Sends the buffered spans. */
  sendSpans(): Promise<void>
  /** Sends everything that is buffered. */
  flush(): Promise<void>
  /** How many lines were written. */
  readonly lines?: () => number
}

const keepsNothing = { sendSpans: async () => {}, flush: async () => {} }

// Loads only what is used: what the others cost to load must not be measured.
const open: Readonly<Record<WayName, (receiver: string) => Observer | Promise<Observer>>> = {
  none: () => keepsNothing,
  cost: () => keepsNothing,
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

export const openObserver = async (way: WayName, receiver: string) => open[way](receiver)

type OtelOptions = Parameters<typeof import('@millrace/otel').otel>[0]
type SdkOptions = NonNullable<ConstructorParameters<typeof import('@opentelemetry/sdk-node').NodeSDK>[0]>

async function otel(options?: OtelOptions): Promise<Telemetry> {
  return (await import('@millrace/otel')).otel(options)
}

/**
 * The official SDK with its defaults: every trace is sampled, spans are sent in batches, contexts
 * are kept in AsyncLocalStorage, and everything is sent as Protocol Buffers over HTTP.
 */
async function sdk(
  receiver: string,
  environment: Readonly<Record<string, string>> = {},
  views: SdkOptions['views'] = [],
): Promise<Omit<Observer, 'telemetry'>> {
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
type Proxy = { getDelegate(): unknown }

/** For traces, the registered provider is behind a proxy. */
async function flushed(provider: unknown): Promise<void> {
  const one = provider as Partial<Flushed & Proxy>
  if (one.forceFlush) await one.forceFlush()
  else if (one.getDelegate) await flushed(one.getDelegate())
}
