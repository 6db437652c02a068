import type { Model } from 'millrace'
import { openaiChat } from 'millrace/openai'

/** Of the provider that plays the script, wherever the server runs. The key is one that no page may ever see. */
export function simulatedModel(provider: string): Model {
  return openaiChat('simulated-1', {
    baseURL: `${provider}/v1`,
    provider: 'simulator',
    apiKey: 'key-of-the-desk',
  })
}
