import { z } from 'zod'
import type { Shorten } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { ModelRequest } from '../protocol/index.ts'
import type { ScriptStep } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { App, ThreadStore } from './index.ts'
import { millrace } from './index.ts'
import type { Line } from './storm-line.test-kit.ts'
import { injected, lineTo } from './storm-line.test-kit.ts'

/** Everything that is not done to a thread but stands around it. */
export interface Weather {
  readonly paceMs: number
  readonly flushMs: number
  /** Conversations become too long, and are shortened. */
  readonly shortens: boolean
  /** What goes wrong with the model: its stream is cut off, or it refuses long conversations. */
  readonly trouble: 'none' | 'cuts' | 'overflow'
  /** What the model does, by turns. */
  readonly turns: readonly number[]
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Only turns a hang into a failure. */
const patienceMs = 60_000

/** Resolves with the condition; rejects if it never comes about, with what was waited for. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: () => string | Promise<string>,
): Promise<void> {
  const latest = Date.now() + patienceMs
  while (!(await condition())) {
    if (Date.now() > latest) throw new Error(`waited in vain for ${await what()}`)
    await sleep(2)
  }
}

/** The same for what somebody else has promised. */
export async function within<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let isSettled = false
  const note = () => {
    isSettled = true
  }
  promise.then(note, note)
  await until(
    () => isSettled,
    () => what,
  )
  return promise
}

/** One of the apps. */
export interface Side {
  readonly app: App
  readonly line: Line
  /** It has been closed, or is being. */
  closing: Promise<void> | undefined
}

/** Apps on one store, which work on the same threads with the same tools. */
export interface World {
  readonly store: ThreadStore
  /** All that were ever opened. */
  readonly sides: readonly Side[]
  open(): Side
  /** How often each call ran that must not run twice, by its idempotency key. */
  readonly ran: ReadonlyMap<string, number>
  /** What the model of the main agent was asked, as JSON. */
  readonly asked: ReadonlySet<string>
  /** What apps complained of and nobody has injected. */
  readonly complaints: readonly string[]
}

export function world(store: ThreadStore, weather: Weather): World {
  const { paceMs, flushMs, shortens } = weather
  const sides: Side[] = []
  const ran = new Map<string, number>()
  const asked = new Set<string>()
  const complaints: string[] = []
  const { never, safe, pay } = countedTools(ran)

  function helper(line: Line) {
    const model = scriptedModel(
      (request, index) => {
        if (line.isDead) return [{ hang: true }]
        asked.add(JSON.stringify(request.messages))
        return mainRound(weather, request, index)
      },
      { paceMs, deltaChars: 6 },
    )
    const sub = agent({
      name: 'sub',
      model: scriptedModel((request, index) => subRound(weather, request, index), { deltaChars: 4 }),
      tools: [never, pay],
    })
    return agent({
      name: 'helper',
      model,
      tools: [never, safe, pay, sub.asTool({ description: 'Helps the helper' })],
      maxRounds: 4,
      retry: { baseMs: 1, attempts: 4 },
      ...(shortens && { contextTokens: 300, shorten }),
    })
  }

  function open(): Side {
    const line = lineTo(store)
    const app = millrace({
      agents: helper(line),
      store: line.store,
      leaseMs: 60,
      recoverMs: 10,
      flushMs,
      maxLosses: 1000,
      onError({ message }) {
        if (!line.isDead && !message.includes(injected)) complaints.push(message)
      },
    })
    const side: Side = { app, line, closing: undefined }
    sides.push(side)
    return side
  }

  return { store, sides, open, ran, asked, complaints }
}

const shorten: Shorten = ({ messages }) => ({ keep: Math.min(3, messages.length), summary: 'And so on.' })

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
  }
}

const calling = (call: string, v: number): ScriptStep => ({ call, input: { v } })
const asking: ScriptStep = { call: 'sub', input: { prompt: 'go' } }

function mainRound({ turns, trouble }: Weather, { messages }: ModelRequest, index: number): ScriptStep[] {
  const turn = turns[(messages.length * 7 + index) % turns.length] as number
  const rounds: readonly ScriptStep[][] = [
    [{ text: 'Only words here.' }],
    [{ text: 'Calling. ' }, calling('never', turn), { text: ' on' }],
    [calling('safe', turn % 9), calling('pay', 2)],
    [calling('pay', 1)],
    [asking],
    [asking, calling('pay', 5), asking],
    [{ text: 'The end.' }],
    [{ text: 'Really.' }],
  ]
  if (trouble === 'overflow' && messages.length > 9)
    return [{ error: { code: 'context_overflow', message: 'too long' } }]
  const steps = rounds[turn % rounds.length] as ScriptStep[]
  if (trouble === 'cuts' && turn % 5 === 0)
    return [...steps, { error: { code: 'stream_interrupted', message: 'cut', retryable: true } }]
  return [...steps, { usage: { inputTokens: 30 * messages.length, outputTokens: 5 } }]
}

function subRound({ turns }: Weather, { messages }: ModelRequest, index: number): ScriptStep[] {
  if (messages.some(({ role }) => role === 'tool')) return [{ text: 'sub answer' }]
  const rounds: readonly ScriptStep[][] = [
    [{ text: 'sub ' }, calling('pay', 1), calling('pay', 2)],
    [calling('never', 1), calling('pay', 3)],
    [{ text: 'sub words' }],
  ]
  return rounds[(turns[(index + 3) % turns.length] as number) % rounds.length] as ScriptStep[]
}
