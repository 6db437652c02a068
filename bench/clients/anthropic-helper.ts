import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import type { Client } from '../contract.ts'

/** The package adds `/v1` itself. */
const withoutVersion = (baseURL: string) => baseURL.replace(/\/v1$/, '')

/** The length of `content` in partial arguments. */
function contentLength(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('content' in value)) return undefined
  return typeof value.content === 'string' ? value.content.length : undefined
}

/** `eager` starts tools before the round ends, which is not the package's default. */
export const anthropicHelper = ({ eager }: { readonly eager: boolean }): Client => ({
  label: 'Anthropic SDK, helper',
  packages: ['@anthropic-ai/sdk'],
  wires: ['messages'],
  imports: `export { default } from '@anthropic-ai/sdk'\nexport { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'`,

  open({ baseURL, model, tools, maxRounds }) {
    const anthropic = new Anthropic({
      baseURL: withoutVersion(baseURL),
      apiKey: 'none',
      maxRetries: 0,
      openTelemetry: false,
    })
    const common = { model, max_tokens: 8192 }
    const runnable = tools.map(({ name, description, schema, run }) =>
      betaZodTool({ name, description, inputSchema: schema, run: (input) => run(input) }),
    )
    const run = (prompt: string) =>
      anthropic.beta.messages.toolRunner({
        ...common,
        messages: [{ role: 'user', content: prompt }],
        tools: runnable,
        max_iterations: maxRounds,
        stream: true,
        ...(eager && { runToolsEagerly: true }),
        // By default the service keeps the conversation and gets only new messages. Our server is
        // stateless, and all other clients send the whole conversation in each round.
        thread: false,
      })

    return {
      async answer(prompt, listener) {
        const stream = anthropic.messages.stream({ ...common, messages: [{ role: 'user', content: prompt }] })
        for await (const event of stream) {
          if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
            listener.text(event.delta.text)
          }
        }
      },

      async loop(prompt, listener) {
        for await (const stream of run(prompt)) {
          for await (const event of stream) {
            if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
              listener.text(event.delta.text)
            }
          }
        }
      },

      // The snapshot is parsed again for each delta, and omits a string until its closing quote has
      // arrived.
      async partials(prompt, listener) {
        for await (const stream of run(prompt)) {
          stream.on('inputJson', (_piece, snapshot) => {
            const length = contentLength(snapshot)
            if (length !== undefined) listener.partial(length)
          })
          for await (const event of stream) {
            if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
              listener.text(event.delta.text)
            }
          }
        }
      },
    }
  },
})

export default anthropicHelper({ eager: false })
