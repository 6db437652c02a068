import { providerSimulator } from '@millrace/simulator'
import type { JsonObject } from '../protocol/index.ts'
import { isObject, parseArguments } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { wires } from './every-model.test-kit.ts'
import type { Recording } from './recordings.test-kit.ts'
import { names, present, recordingsOf } from './recordings.test-kit.ts'
import { wireListener } from './wire/wiretap.test-kit.ts'

export type Wire = Recording['wire']

/** The JSON of each event of one answer, without Chat's `[DONE]`. */
export interface Answer {
  readonly name: string
  readonly wire: Wire
  readonly frames: readonly JsonObject[]
}

const note = (text: string): ScriptRound => [{ text: 'Noting. ' }, { call: 'note', input: { text, n: 1 } }]

/** Text, reasoning and calls, for machines without recordings. */
const rounds: readonly ScriptRound[] = [
  'Good morning to you all.',
  note('first'),
  [{ reasoning: 'Two are needed.' }, { call: 'note', input: { text: 'a' } }, { call: 'look', input: {} }],
  [{ call: 'delete_file', input: { path: 'secrets.txt' } }],
  [{ call: 'read_file', input: { path: 'report.txt' } }, { text: 'Reading it.' }],
]

const { signal } = new AbortController()

/** Every round as the simulator sends it over each API. */
async function simulatedAnswers(): Promise<Answer[]> {
  const wireOf = {
    'Chat Completions': 'openai-chat',
    Responses: 'openai-responses',
    Messages: 'anthropic',
  } as const
  const answers: Answer[] = []
  for (const [name, open] of Object.entries(wires)) {
    await using sim = await providerSimulator(rounds, { deltaChars: 7 })
    for (const round of rounds.keys()) {
      const { captured, wire } = wireListener()
      const request = { messages: [{ role: 'user', content: 'Go.' }], tools: [], settings: {} } as const
      for await (const _ of open(sim).stream(request, { signal, wire }));
      const text = captured.map(({ pieces }) => pieces.join('')).join('')
      const frames = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ''))
      answers.push({ name: `round ${round}`, wire: wireOf[name as keyof typeof wireOf], frames })
    }
  }
  return answers
}

/** All answers of one API: simulated ones, and recorded ones if available. */
export async function answersOf(wire: Wire): Promise<Answer[]> {
  const recorded = (present ? names : [])
    .filter((name) => name.startsWith(`${wire}/`))
    .flatMap((name) => recordingsOf(name).map(({ lines }): Answer => ({ name, wire, frames: lines })))
  return [...(await simulatedAnswers()).filter((answer) => answer.wire === wire), ...recorded]
}

type Fields = Record<string, unknown>
const fields = (value: unknown): Fields => (isObject(value) ? value : {})
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : [])
const asString = (value: unknown) => (typeof value === 'string' ? value : '')

/** A call in a form that can be compared. */
export const callKey = (name: unknown, raw: unknown): string =>
  `${name} ${JSON.stringify(typeof raw === 'string' ? parseArguments(raw).input : raw)}`

/**
 * The oracle: the calls that one uninterrupted block of one message opened and closed, in any list
 * of events. It shares no code with the readers.
 */
export function plainCalls(wire: Wire, frames: readonly Fields[]): Set<string> {
  if (wire === 'anthropic') return callsOfBlocks(frames)
  return wire === 'openai-chat' ? callsOfChunks(frames) : callsOfItems(frames)
}

function callsOfBlocks(frames: readonly Fields[]): Set<string> {
  const found = new Set<string>()
  const open = new Map<unknown, { name: unknown; raw: string; input: unknown }>()
  let message: unknown
  for (const { type, index, content_block, delta, message: started } of frames) {
    if (type === 'message_start') {
      const { id, content } = fields(started)
      if (id !== message) open.clear()
      message = id
      for (const block of list(content))
        if (block.type === 'tool_use') found.add(callKey(block.name, block.input ?? {}))
    }
    const { type: kind, name, input } = fields(content_block)
    if (type === 'content_block_start') {
      open.delete(index)
      if (kind === 'tool_use') open.set(index, { name, raw: '', input })
    }
    const block = open.get(index)
    if (!block) continue
    if (type === 'content_block_delta') block.raw += asString(fields(delta).partial_json)
    if (type !== 'content_block_stop') continue
    found.add(callKey(block.name, block.raw || (block.input ?? {})))
    open.delete(index)
  }
  return found
}

function callsOfItems(frames: readonly Fields[]): Set<string> {
  const found = new Set<string>()
  const add = (item: Fields) => {
    if (item.type === 'function_call') found.add(callKey(item.name, item.arguments))
    const { type: _, ...action } = fields(item.action)
    if (item.type === 'local_shell_call') found.add(callKey('shell', action))
    if (item.type === 'mcp_approval_request')
      found.add(
        callKey('mcp_approval', {
          server: item.server_label,
          tool: item.name,
          arguments: parseArguments(asString(item.arguments)).input,
        }),
      )
  }
  const started = new Map<unknown, Fields>()
  for (const { type, item, item_id, arguments: raw, response } of frames) {
    if (type === 'response.output_item.added') started.set(fields(item).id, fields(item))
    if (type === 'response.output_item.done') add(fields(item))
    if (type === 'response.function_call_arguments.done') add({ ...started.get(item_id), arguments: raw })
    for (const one of list(fields(response).output)) add(one)
  }
  return found
}

/**
 * Joins calls by chunk id and index, from the first chunk of that id or since the id last changed,
 * up to what closes them.
 */
function callsOfChunks(frames: readonly Fields[]): Set<string> {
  const found = new Set<string>()
  const all = new Map<string, { name: string; raw: string }>()
  const latest = new Map<string, { name: string; raw: string }>()
  let current: unknown
  const end = () => {
    for (const { name, raw } of [...all.values(), ...latest.values()]) found.add(callKey(name, raw))
  }
  for (const { id, choices } of frames)
    for (const choice of list(choices)) {
      if (id !== current) latest.clear()
      current = id
      for (const { index, function: body } of list(fields(choice.delta).tool_calls)) {
        const key = `${id} ${index ?? 0}`
        // The next call closes those before it.
        if (!latest.has(key)) end()
        for (const calls of [all, latest]) {
          const call = calls.get(key) ?? { name: '', raw: '' }
          const { name, arguments: raw } = fields(body)
          calls.set(key, {
            // Some servers repeat the name with every fragment.
            name: call.name.endsWith(asString(name)) ? call.name : call.name + asString(name),
            raw: call.raw + (typeof raw === 'string' ? raw : raw ? JSON.stringify(raw) : ''),
          })
        }
      }
      if (choice.finish_reason) end()
    }
  end()
  return found
}
