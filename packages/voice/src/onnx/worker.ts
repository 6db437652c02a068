import { parentPort, workerData } from 'node:worker_threads'

/** The network to run, and its weight files. */
export interface OnnxJob {
  readonly network: 'silero' | 'moonshine'
  readonly files: readonly string[]
}

/** A response. `error` is the error message. */
export interface OnnxMessage {
  readonly id: number
  readonly reply?: unknown
  readonly error?: string
}

/** Loaded on demand: the packages of the other network may not be installed. */
const networks = {
  silero: async () => (await import('./silero-network.ts')).sileroNetwork,
  moonshine: async () => (await import('./moonshine-network.ts')).moonshineNetwork,
}

const { network, files } = workerData as OnnxJob
const load = await networks[network]()
const run = await load(files)
/** Requests run concurrently, so that a short one does not wait for a long one. */
const running = new Map<number, AbortController>()

parentPort?.on('message', async ({ id, request }: { id: number; request?: unknown }) => {
  // Without a request, it cancels the earlier one.
  if (request === undefined) return running.get(id)?.abort()
  const stop = new AbortController()
  running.set(id, stop)
  try {
    const reply = request === null ? null : await run(request, stop.signal)
    parentPort?.postMessage({ id, reply } satisfies OnnxMessage)
  } catch (error) {
    parentPort?.postMessage({ id, error: String((error as Error).message) } satisfies OnnxMessage)
  } finally {
    running.delete(id)
  }
})
