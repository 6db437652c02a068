import type { Model } from 'millrace'
import { openaiChat } from 'millrace/openai'

/** A model of the simulated provider. Its API key must never reach a page. */
export function simulatedModel(provider: string): Model {
  return openaiChat('simulated-1', {
    baseURL: `${provider}/v1`,
    provider: 'simulator',
    apiKey: 'key-of-the-desk',
  })
}
