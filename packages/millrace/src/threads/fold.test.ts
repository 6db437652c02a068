import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { agent } from '../agent/index.ts'
import type { Entry, Message, RunState, ThreadState } from '../protocol/index.ts'
import {
  applyEntry,
  conversationOf,
  emptyThread,
  findUnpaired,
  messagesOf,
  nextThreadAction,
  usageOf,
} from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { App, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import { checkNumbers, eventsOf, heldTool, untilIdle } from './threads.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** Something that users do to a thread while it runs. */
type Action =
  | { readonly do: 'send'; readonly mode: 'queue' | 'steer' | 'interrupt' }
  | { readonly do: 'stop' | 'approve' | 'deny' | 'release' | 'wait' }

const action = fc.oneof(
  fc.record({ do: fc.constant('send' as const), mode: fc.constantFrom('queue', 'steer', 'interrupt') }),
  fc.record({ do: fc.constantFrom('stop', 'approve', 'deny', 'release', 'wait') }),
) as fc.Arbitrary<Action>

const plans: ScriptRound[] = [
  'Only text.',
  [{ text: 'Calling. ' }, { call: 'hold' }, { text: ' and more' }],
  [{ call: 'pay' }, { call: 'hold' }],
  [{ call: 'pay' }],
]

function fold(entries: readonly Entry[]): ThreadState {
  const state = emptyThread()
  for (const entry of entries) applyEntry(state, entry)
  return state
}

/** Whether the round that starts just before these entries ends without any output. */
function isCutOff(entries: readonly Entry[]): boolean {
  const next = entries.find(({ event }) => event.type !== 'input' && event.type !== 'stop')?.event
  return next?.type === 'round-end' && next.finish === 'interrupted'
}

/**
 * Like a store across a network: what was written is readable before the writer gets its result.
 */
function withLateResults(store: ThreadStore): ThreadStore {
  return {
    ...store,
    async append(batches) {
      const appended = await store.append(batches)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return appended
    },
  }
}

test.for([
  ['', memoryStore],
  [', even if a store is slow', () => withLateResults(memoryStore())],
] as const)('every request can be derived from the log alone, whatever users do%s', async ([, openStore]) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 3, maxLength: 14 }),
      fc.array(fc.nat({ max: plans.length - 1 }), { minLength: 4, maxLength: 4 }),
      async (actions, order) => {
        const held = heldTool('hold')
        const pay = heldTool('pay', { approve: true })
        const model = scriptedModel(
          (_, index) => (index < order.length ? plans[order[index] as number] : 'The end.') as ScriptRound,
          { paceMs: 1, deltaChars: 6 },
        )
        const store = openStore()
        const app: App = millrace({
          agents: agent({ name: 'helper', model, tools: [held.tool, pay.tool] }),
          store,
          flushMs: 0,
          recoverMs: 10,
        })
        open.push({ close: () => app.close({ graceMs: 0 }) })
        const thread = app.thread('t')
        const releaseAll = () => {
          for (const { release } of [...held.runs, ...pay.runs]) release()
        }
        await thread.send('start')
        for (const [index, one] of actions.entries()) {
          if (one.do === 'send') await thread.send(`message ${index}`, { mode: one.mode })
          else if (one.do === 'stop') await thread.stop()
          else if (one.do === 'release') releaseAll()
          else if (one.do === 'wait') await new Promise((resolve) => setTimeout(resolve, 3))
          else
            for (const { callId } of (await thread.state()).approvals)
              await thread.approve(callId, { approved: one.do === 'approve' }).catch(() => {})
        }
        // Release everything that waits until nothing does.
        for (let turn = 0; turn < 100; turn++) {
          releaseAll()
          const { status } = await thread.info()
          if (status === 'idle') break
          const { approvals } = await thread.state()
          for (const { callId } of approvals) await thread.approve(callId, { approved: true }).catch(() => {})
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
        const entries = await untilIdle(thread)
        checkNumbers(entries)

        // Every run ends once, and every prompt can be derived from the log, message by message.
        const starts = eventsOf(entries, 'run-start')
        expect(eventsOf(entries, 'run-end')).toHaveLength(starts.length)
        const prompts: { readonly messages: readonly Message[]; readonly cut: boolean }[] = []
        const state = emptyThread()
        for (const [index, entry] of entries.entries()) {
          applyEntry(state, entry)
          if (entry.event.type !== 'round-start') continue
          const messages = [...(state.run as RunState).history]
          prompts.push({ messages, cut: isCutOff(entries.slice(index + 1)) })
        }
        // A stop just as a round starts can come before its request is sent.
        const requests = model.requests.map(({ messages }) => messages)
        for (const { messages, cut } of prompts)
          if (!cut || isDeepStrictEqual(messages, requests[0])) expect(requests.shift()).toEqual(messages)
        expect(requests).toEqual([])
        for (const { messages } of prompts) expect(findUnpaired(messages)).toBeUndefined()

        const final = fold(entries)
        expect(nextThreadAction(final)).toEqual({ type: 'idle' })
        // A stop may come before the first run.
        expect(findUnpaired(final.run ? messagesOf(final.run) : [])).toBeUndefined()
        const inputCount = eventsOf(entries, 'input').length
        expect(conversationOf(final).filter(({ role }) => role === 'user')).toHaveLength(inputCount)
        expect(usageOf(final)).toEqual((await thread.state()).usage)
        await app.close({ graceMs: 0 })
        await store.close()
      },
    ),
    { numRuns: sized(40) },
  )
})
