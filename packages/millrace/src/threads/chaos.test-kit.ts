import { z } from 'zod'
import type { Compact } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { ModelRequest } from '../protocol/index.ts'
import type { ScriptStep } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { StoreLink } from './chaos-store.test-kit.ts'
import { injected, linkTo } from './chaos-store.test-kit.ts'
import type { App, ThreadStore } from './index.ts'
import { millrace } from './index.ts'

/** The conditions under which the actions run. */
export interface Conditions {
  readonly paceMs: number
  readonly flushMs: number
  /** Whether conversations become too long and are compacted. */
  readonly compacts: boolean
  /** What goes wrong with the model: its stream is cut off, or it rejects long conversations. */
  readonly fault: 'none' | 'cuts' | 'overflow'
  /** What the model does, in turn. */
  readonly turns: readonly number[]
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Only turns a hang into a failure. */
const timeoutMs = 60_000

/** Resolves when the condition is true. Rejects if it never is, naming what was awaited. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: () => string | Promise<string>,
): Promise<void> {
  const latest = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > latest) throw new Error(`timed out waiting for ${await what()}`)
    await sleep(2)
  }
}

/** The same for a promise. */
export async function within<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  await until(
    () => isSettled,
    () => what,
  )
  return promise
}

/** One app, with its link to the store. */
export interface Instance {
  readonly app: App
  readonly link: StoreLink
  /** Set once it is being closed. */
  closing: Promise<void> | undefined
}

/** Apps on one store that work on the same threads with the same tools. */
export interface World {
  readonly store: ThreadStore
  /** All apps ever opened. */
  readonly instances: readonly Instance[]
  open(): Instance
  /** How often each call that must not run twice did run, by idempotency key. */
  readonly ran: ReadonlyMap<string, number>
  /** The requests to the main agent's model, as JSON. */
  readonly modelRequests: ReadonlySet<string>
  /** Errors reported by apps that were not injected. */
  readonly unexpectedErrors: readonly string[]
}

export function world(store: ThreadStore, conditions: Conditions): World {
  const { paceMs, flushMs, compacts } = conditions
  const instances: Instance[] = []
  const ran = new Map<string, number>()
  const modelRequests = new Set<string>()
  const unexpectedErrors: string[] = []
  const { never, safe, pay, ask } = countedTools(ran)

  function helper(link: StoreLink) {
    const model = scriptedModel(
      (request, index) => {
        if (link.isDead) return [{ hang: true }]
        modelRequests.add(JSON.stringify(request.messages))
        return mainRound(conditions, request, index)
      },
      { paceMs, deltaChars: 6 },
    )
    const sub = agent({
      name: 'sub',
      model: scriptedModel((request, index) => subRound(conditions, request, index), { deltaChars: 4 }),
      tools: [never, pay, ask],
    })
    return agent({
      name: 'helper',
      model,
      tools: [never, safe, pay, ask, sub.asTool({ description: 'Helps the helper' })],
      maxRounds: 4,
      retry: { baseMs: 1, attempts: 4 },
      ...(compacts && { maxContextTokens: 300, compact }),
    })
  }

  function open(): Instance {
    const link = linkTo(store)
    const app = millrace({
      agents: helper(link),
      store: link.store,
      leaseMs: 60,
      recoverMs: 10,
      flushMs,
      maxLosses: 1000,
      onError({ message }) {
        if (!link.isDead && !message.includes(injected)) unexpectedErrors.push(message)
      },
    })
    const instance: Instance = { app, link, closing: undefined }
    instances.push(instance)
    return instance
  }

  return { store, instances, open, ran, modelRequests, unexpectedErrors }
}

const compact: Compact = ({ messages }) => ({ keep: Math.min(3, messages.length), summary: 'And so on.' })

function countedTools(ran: Map<string, number>) {
  const counted = (name: string, options: { repeat: 'safe' | 'never'; approve?: boolean }) =>
    tool({
      name,
      description: name,
      input: z.object({ v: z.number() }),
      ...options,
      async run({ v }, { idempotencyKey, progress }) {
        const key = `${name} ${idempotencyKey}`
        if (options.repeat === 'never') ran.set(key, (ran.get(key) ?? 0) + 1)
        progress({ v })
        await sleep(v % 4)
        if (v === 7) throw new Error('seven is too many')
        return `r${v}`
      },
    })
  return {
    never: counted('never', { repeat: 'never' }),
    safe: counted('safe', { repeat: 'safe' }),
    pay: counted('pay', { repeat: 'never', approve: true }),
    ask: tool({ name: 'ask', description: 'Run by a client', input: z.object({ v: z.number() }) }),
  }
}

const callTo = (call: string, v: number): ScriptStep => ({ call, input: { v } })
const subCall: ScriptStep = { call: 'sub', input: { prompt: 'go' } }

/** The texts of all rounds of the main agent. */
export const answers: readonly string[] = ['Only text here.', 'Calling.  on', 'The end.', 'Really.']

function mainRound({ turns, fault }: Conditions, { messages }: ModelRequest, index: number): ScriptStep[] {
  const turn = turns[(messages.length * 7 + index) % turns.length] as number
  const rounds: readonly ScriptStep[][] = [
    [{ text: 'Only text here.' }],
    [{ text: 'Calling. ' }, callTo('never', turn), { text: ' on' }],
    [callTo('safe', turn % 9), callTo('pay', 2)],
    [callTo('pay', 1)],
    [callTo('ask', 1), callTo('never', turn)],
    [subCall],
    [subCall, callTo('pay', 5), subCall],
    [{ text: 'The end.' }],
    [{ text: 'Really.' }],
  ]
  if (fault === 'overflow' && messages.length > 9)
    return [{ error: { code: 'context_overflow', message: 'too long' } }]
  const steps = rounds[turn % rounds.length] as ScriptStep[]
  if (fault === 'cuts' && turn % 5 === 0)
    return [...steps, { error: { code: 'stream_interrupted', message: 'cut', retryable: true } }]
  return [...steps, { usage: { inputTokens: 30 * messages.length, outputTokens: 5 } }]
}

function subRound({ turns }: Conditions, { messages }: ModelRequest, index: number): ScriptStep[] {
  if (messages.some(({ role }) => role === 'tool')) return [{ text: 'sub answer' }]
  const rounds: readonly ScriptStep[][] = [
    [{ text: 'sub ' }, callTo('pay', 1), callTo('pay', 2)],
    [callTo('never', 1), callTo('pay', 3)],
    [callTo('ask', 1), callTo('pay', 3)],
    [{ text: 'sub words' }],
  ]
  return rounds[(turns[(index + 3) % turns.length] as number) % rounds.length] as ScriptStep[]
}
