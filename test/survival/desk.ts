import { setTimeout as delay } from 'node:timers/promises'
import { agent } from '../../packages/millrace/src/agent/index.ts'
import { anthropic } from '../../packages/millrace/src/models/anthropic.ts'
import { openai, openaiChat } from '../../packages/millrace/src/models/openai.ts'
import { tool } from '../../packages/millrace/src/tools/index.ts'
import { writeDeed } from './deeds.ts'

/** How each tool of the desk may be repeated; whoever holds the deeds against the log has to know. */
export const repeats = {
  look: 'safe',
  count: 'safe',
  charge: 'never',
  ship: 'never',
  refund: 'never',
  crash: 'safe',
} as const

export type DeskTool = keyof typeof repeats

/** By hand: a library for schemas takes longer to load than all the rest of a process that is about to be killed. */
const errand = {
  jsonSchema: {
    type: 'object',
    properties: { op: { type: 'string' }, ms: { type: 'number' }, note: { type: 'string' } },
    required: ['op', 'ms'],
  },
}

/** Some threads are the death of whoever works on them, at a moment that stands in their metadata. */
export function dieIf(metadata: unknown, moment: 'context' | 'round') {
  if ((metadata as { dies?: string } | undefined)?.dies === moment) process.kill(process.pid, 'SIGKILL')
}

/** Two agents with the same tools on the wires of two providers; and one more behind a tool of theirs. */
export function deskAgents({ provider, deeds }: { readonly provider: string; readonly deeds: string }) {
  const errandTool = (name: DeskTool, options: { readonly exclusive?: true; readonly approve?: true } = {}) =>
    tool({
      name,
      description: `Does an errand: ${name}`,
      input: errand,
      repeat: repeats[name],
      ...options,
      async run(input, { callId, idempotencyKey: key, attempt, signal, progress }) {
        const { op, ms } = input as { op: string; ms: number }
        const deed = { tool: name, op, callId, key, attempt }
        writeDeed(deeds, { part: 'begin', ...deed })
        if (name === 'crash') process.kill(process.pid, 'SIGKILL')
        for (let left = ms; left > 0; left -= 40) {
          await delay(Math.min(left, 40), undefined, { signal })
          if (left > 40) progress({ left })
        }
        writeDeed(deeds, { part: 'end', ...deed })
        return { done: op }
      },
    })
  const errands = [
    errandTool('look'),
    errandTool('count'),
    errandTool('charge'),
    errandTool('ship', { exclusive: true }),
    errandTool('refund', { approve: true }),
    errandTool('crash'),
  ]
  const apiKey = 'key'
  const chat = openaiChat('desk', { baseURL: `${provider}/v1`, apiKey })
  const shared = {
    // The provider is there all the time: whatever a run has to get over is the death of its own process.
    retry: { attempts: 1 },
    repeatLimits: false,
    prepareRound({ context }: { readonly context: unknown }) {
      dieIf(context, 'round')
      return undefined
    },
  } as const
  const helper = agent({ name: 'helper', model: chat, tools: errands, ...shared })
  const tools = [...errands, helper.asTool({ description: 'Does several errands' })]
  return {
    chat: agent({ name: 'chat', model: chat, tools, ...shared }),
    claude: agent({
      name: 'claude',
      model: anthropic('claude-desk', { baseURL: provider, apiKey }),
      tools,
      ...shared,
    }),
    /** One whose provider goes on without a connection. */
    kept: agent({
      name: 'kept',
      model: openai('kept-desk', { baseURL: `${provider}/v1`, apiKey, background: true }),
      ...shared,
    }),
  }
}
