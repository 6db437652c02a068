import { permission } from '@millrace/tools'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { z } from 'zod'
import type { Agent } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { Entry, JsonObject, ToolMessage } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'

export const story = 'Once upon a time there was a mill by a race, and the wheel turned as long as water ran.'

/** An agent that always answers with the same text, a few characters at a time. */
export function storyteller(text: string = story, { paceMs = 0, deltaChars = 5 } = {}): Agent {
  return agent({ name: 'storyteller', model: scriptedModel(() => text, { paceMs, deltaChars }) })
}

/** An agent whose tool needs approval. */
export function asker(): Agent {
  const cutRope = tool({
    name: 'cut_rope',
    description: 'Cuts the rope',
    input: z.object({ where: z.string() }),
    approve: true,
    run: ({ where }) => `cut ${where}`,
  })
  return agent({
    name: 'asker',
    model: callsOnce('cut_rope', { where: 'here' }, 'It is cut.'),
    tools: [cutRope],
  })
}

/** An agent that asks for a second round. */
export function spender(): Agent {
  const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'a mill' })
  return agent({
    name: 'spender',
    model: callsOnce('look', {}, 'I saw a mill.'),
    tools: [look],
    budget: { rounds: 1, onLimit: 'ask' },
  })
}

/** An agent whose tool is run by a client. */
export function picker(): Agent {
  const pick = tool({
    name: 'pick_color',
    description: 'Asks the user for a color',
    input: z.object({ of: z.string() }),
  })
  return agent({
    name: 'picker',
    model: callsOnce('pick_color', { of: 'sky' }, ({ content }) => `It is ${JSON.stringify(content)}.`),
    tools: [pick],
  })
}

/** An agent whose answers are numbered, and which repeats what the client wants of it. */
export function counter(): Agent {
  const model = scriptedModel(({ messages, tools, toolChoice, output, settings }, index) => {
    const asked = { tools: tools.map(({ name }) => name), toolChoice, output, ...settings }
    return `Answer ${index + 1} to ${messages.length} messages: ${JSON.stringify(asked)}`
  })
  return agent({ name: 'counter', model })
}

/** An agent whose permission rules ask, and can remember the answer. */
export function ruled(): Agent {
  const tie = tool({
    name: 'tie_rope',
    description: 'Ties the rope',
    input: z.object({ where: z.string() }),
    access: ({ where }) => [{ kind: 'write', path: where }],
    run: ({ where }) => `tied ${where}`,
  })
  const model = callsOnce('tie_rope', { where: 'here' }, 'It is tied.')
  return agent({ name: 'ruled', model, tools: [tie], permission: permission({}) })
}

/** An agent with `asker` as a sub-agent: the call id of its approval request contains a slash. */
export function delegator(): Agent {
  const model = callsOnce('asker', { prompt: 'Cut it.' }, 'It was done.')
  const helper = asker().asTool({ name: 'asker', description: 'Cuts ropes' })
  return agent({ name: 'delegator', model, tools: [helper] })
}

function callsOnce(name: string, input: JsonObject, answer: string | ((result: ToolMessage) => string)) {
  return scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'tool') return [{ call: name, input, id: 'call_1' }]
    return typeof answer === 'string' ? answer : answer(last)
  })
}

/** An agent that never finishes its answer. */
export function muser(): Agent {
  return agent({ name: 'muser', model: scriptedModel(() => [{ text: 'Hm.' }, { hang: true }]) })
}

/** Polls until the condition holds. The timeout of the test is the limit. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Reads server-sent events as a browser would. */
export async function* sseFrames(body: ReadableStream<Uint8Array> | null) {
  let rest = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream() as never) ?? []) {
    rest += chunk
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n')
      rest = rest.slice(end + 2)
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      yield { id: field('id'), event: field('event'), data: field('data'), lines }
    }
  }
}

/** Reads the entries of server-sent events, up to the end of the stream. */
export async function entriesOf(body: ReadableStream<Uint8Array> | null): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const { id, data } of sseFrames(body))
    if (id !== undefined) entries.push(JSON.parse(data ?? '') as Entry)
  return entries
}

/** The text of all entries. Throws if a number is missing or repeated. */
export function contiguousText(entries: readonly Entry[], after = 0): string {
  let last = after
  let text = ''
  for (const { seq, from = seq, event } of entries) {
    if (from !== last + 1) throw new Error(`entry ${from} follows entry ${last}`)
    last = seq
    if (event.type === 'text') text += event.text
  }
  return text
}

type Frame = Record<string, unknown> & { readonly type: string }

/** A WebSocket client that keeps all frames. */
export interface SocketClient {
  readonly ws: WebSocket
  readonly frames: Frame[]
  /** The entries among the frames. */
  entries(): Entry[]
  /** Resolves with the first frame of that type, received already or later. */
  frame(type: string): Promise<Frame>
  send(frame: unknown): void
  readonly closed: Promise<{ code: number; reason: string }>
}

export async function socketClient(
  url: string,
  { headers, protocols = [] }: { headers?: Record<string, string>; protocols?: string[] } = {},
): Promise<SocketClient> {
  const ws = new WebSocket(url.replace(/^http/, 'ws'), protocols, headers && { headers })
  const frames: Frame[] = []
  ws.on('message', (data) => frames.push(JSON.parse(String(data)) as Frame))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  onTestFinished(() => ws.terminate())
  await new Promise<void>((resolve, reject) => {
    ws.on('open', resolve)
    ws.on('error', reject)
  })
  return {
    ws,
    frames,
    entries: () =>
      frames.flatMap(({ type, ...entry }) => ('event' in entry ? [entry as unknown as Entry] : [])),
    async frame(type) {
      await until(() => frames.some((frame) => frame.type === type))
      return frames.find((frame) => frame.type === type) as Frame
    },
    send: (frame) => ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    closed,
  }
}
