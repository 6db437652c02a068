import { parentPort, workerData } from 'node:worker_threads'

/** What the thread is for, and the files of the weights. */
export interface OnnxJob {
  readonly network: 'silero' | 'moonshine'
  readonly files: readonly string[]
}

/** What it answers. `error` is what went wrong, in words. */
export interface OnnxMessage {
  readonly id: number
  readonly reply?: unknown
  readonly error?: string
}

/** Each needs packages of its own, and only those of the other may be missing. */
const networks = {
  silero: async () => (await import('./silero-network.ts')).sileroNetwork,
  moonshine: async () => (await import('./moonshine-network.ts')).moonshineNetwork,
}

const { network, files } = workerData as OnnxJob
const load = await networks[network]()
const answer = await load(files)
/** Questions are answered side by side, so that a short one does not wait for the end of a long one. */
const asked = new Map<number, AbortController>()

parentPort?.on('message', async ({ id, request }: { id: number; request?: unknown }) => {
  // Without a question: nobody waits for the answer any more.
  if (request === undefined) return asked.get(id)?.abort()
  const stop = new AbortController()
  asked.set(id, stop)
  try {
    const reply = request === null ? null : await answer(request, stop.signal)
    parentPort?.postMessage({ id, reply } satisfies OnnxMessage)
  } catch (error) {
    parentPort?.postMessage({ id, error: String((error as Error).message) } satisfies OnnxMessage)
  } finally {
    asked.delete(id)
  }
})
