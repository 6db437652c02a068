import { createResumableStreamContext } from 'resumable-stream'
import type { WayConfig } from '../ways.ts'
import { openAiSdk } from './ai-sdk.ts'

/** As the AI SDK's page about resuming streams shows it, with a Redis server of its own. */
export function open(config: WayConfig): Promise<string> {
  process.env.REDIS_URL = config.redis
  const context = createResumableStreamContext({ waitUntil: (promise) => void promise.catch(() => {}) })
  return openAiSdk(
    config,
    async ({ stream, id }) => void (await context.createNewResumableStream(id, () => stream)),
  )
}
