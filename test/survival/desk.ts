import { setTimeout as delay } from 'node:timers/promises'
import { agent } from '../../packages/millrace/src/agent/index.ts'
import { anthropic } from '../../packages/millrace/src/models/anthropic.ts'
import { openai, openaiChat } from '../../packages/millrace/src/models/openai.ts'
import { tool } from '../../packages/millrace/src/tools/index.ts'
import { writeAction } from './actions.ts'

/** How each tool of the desk may be repeated; the checks need it too. */
export const repeats = {
  look: 'safe',
  count: 'safe',
  charge: 'never',
  ship: 'never',
  refund: 'never',
  crash: 'safe',
} as const

export type DeskTool = keyof typeof repeats

/** Hand-written: a schema library takes longer to load than the rest of this process. */
const errand = {
  jsonSchema: {
    type: 'object',
    properties: { op: { type: 'string' }, ms: { type: 'number' }, note: { type: 'string' } },
    required: ['op', 'ms'],
  },
}

/** Some threads kill the process of their worker at a moment that their metadata names. */
export function dieIf(metadata: unknown, moment: 'context' | 'round') {
  if ((metadata as { dies?: string } | undefined)?.dies === moment) process.kill(process.pid, 'SIGKILL')
}

/**
 * Two agents with the same tools on the wires of two providers, and a sub-agent behind one of their
 * tools.
 */
export function deskAgents({ provider, actions }: { readonly provider: string; readonly actions: string }) {
  const errandTool = (name: DeskTool, options: { readonly exclusive?: true; readonly approve?: true } = {}) =>
    tool({
      name,
      description: `Does an errand: ${name}`,
      input: errand,
      repeat: repeats[name],
      ...options,
      async run(input, { callId, idempotencyKey: key, attempt, signal, progress }) {
        const { op, ms } = input as { op: string; ms: number }
        const action = { tool: name, op, callId, key, attempt }
        writeAction(actions, { part: 'begin', ...action })
        signal.addEventListener('abort', () => writeAction(actions, { part: 'abort', ...action }))
        if (name === 'crash') process.kill(process.pid, 'SIGKILL')
        for (let left = ms; left > 0; left -= 40) {
          await delay(Math.min(left, 40), undefined, { signal })
          if (left > 40) progress({ left })
        }
        writeAction(actions, { part: 'end', ...action })
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
    // The provider is always up: the only failure of a run is the death of its process.
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
    /** An agent whose provider continues to generate without a connection. */
    kept: agent({
      name: 'kept',
      model: openai('kept-desk', { baseURL: `${provider}/v1`, apiKey, background: true }),
      ...shared,
    }),
  }
}
