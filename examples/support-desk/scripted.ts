import { providerSimulator } from '@millrace/simulator'
import { type JsonValue, type Message, type Model, textOf, toolCallsOf } from 'millrace'
import { openaiChat } from 'millrace/openai'
import type { ScriptRound, ScriptStep } from 'millrace/testing'
import { aloud, idsIn, isOnPhone } from './aloud.ts'
import { type Conversation, readConversation } from './conversation.ts'
import { euros, type Order, type Parcel } from './orders.ts'

/** About the speed of a real model. */
const wordMs = 25

/**
 * A local provider with a model that understands keywords and order numbers. It is called like any
 * other, with Chat Completions over a real socket.
 */
export async function scriptedProvider(): Promise<{ readonly model: Model; close(): Promise<void> }> {
  const simulator = await providerSimulator(({ body }) => {
    const conversation = readConversation(body)
    return paced(nextRound(conversation), isOnPhone(conversation) ? aloud : String)
  })
  const { baseURL } = simulator
  const model = {
    ...openaiChat('keyword-script', { baseURL, provider: 'simulator', apiKey: 'any' }),
    // Nothing is paid, and everything that shows a cost says so.
    simulated: true,
    price: { input: 1, output: 4, cacheRead: 0.1 },
  }
  return { model, close: () => simulator.close() }
}

/** Sends one word at a time, with pauses. */
function paced(round: ScriptRound, worded: (text: string) => string): ScriptStep[] {
  const steps = typeof round === 'string' ? [{ text: round }] : round
  return steps.flatMap((step): readonly ScriptStep[] => {
    if (!('text' in step)) return [step]
    const words = worded(step.text).match(/\s*\S+\s*$|\s*\S+/g) ?? []
    return words.flatMap((text) => [{ text }, { pause: wordMs }])
  })
}

/** The result of a tool call, or its error. */
type Outcome<Value> =
  | { readonly value: Value; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string }

/**
 * Like any model, it sees only the conversation: the next round follows from the question and the
 * results.
 */
function nextRound({ messages, tools }: Conversation): ScriptRound {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const question = textOf(messages[asked] as Message)
  const wants = {
    place: tools.includes('track_parcel') && /where|track|parcel|arriv|deliver|status|when/i.test(question),
    refund: tools.includes('refund_order') && /refund|money back|send .*back/i.test(question),
    list:
      tools.includes('list_orders') &&
      /orders|what else|everything|\blist\b|did i (order|buy)/i.test(question),
  }
  // "Where is it?" refers to the orders that were mentioned last.
  const follows = wants.place || wants.refund
  const ids = idsIn(question).length || !follows ? idsIn(question) : lastIds(messages.slice(0, asked))
  if (ids.length === 0 && !wants.list) return help(question)

  const results = resultsOf(messages.slice(asked + 1))
  if (results.size === 0) return lookUp(ids, wants)

  const order = (id: string) => results.get(`lookup_order ${id}`) as Outcome<Order>
  const refundable = ids.flatMap((id) => order(id).value ?? []).filter(({ status }) => status !== 'refunded')
  if (wants.refund && refundable.length > 0 && !results.has(`refund_order ${refundable[0]?.id}`))
    return askRefund(refundable)

  const answers = ids.map((id) => describe(id, order(id), results))
  const all = results.get('list_orders ') as Outcome<Order[]> | undefined
  if (all?.value)
    answers.push(
      describeAll(
        all.value.filter(({ id }) => !ids.includes(id)),
        ids.length > 0,
      ),
    )
  return answers.join(' ')
}

function lookUp(ids: readonly string[], wants: { place: boolean; list: boolean }): ScriptStep[] {
  const calls = ids.flatMap((id): ScriptStep[] => [
    // The slow tool first: it runs while the arguments of the others are generated.
    ...(wants.place ? [{ call: 'track_parcel', input: { id } }] : []),
    { call: 'lookup_order', input: { id } },
  ])
  if (wants.list) calls.push({ call: 'list_orders' })
  const subject = ids.length > 0 ? ids.join(' and ') : 'your orders'
  if (!wants.place || ids.length === 0) return [{ text: `Let me look up ${subject}.` }, ...calls]
  return [
    { text: `Let me look up ${subject} and ask the carrier.` },
    ...calls,
    // The tools are already running while this text streams.
    { text: ' Carriers take a second or two to answer, so please bear with me for a moment.' },
  ]
}

function askRefund(orders: readonly Order[]): ScriptStep[] {
  const goods = orders.map(({ item, total }) => `${item} for ${euros(total)}`).join(' and ')
  return [
    { text: `That is ${goods}. I need your approval for a refund.` },
    ...orders.map(({ id }) => ({ call: 'refund_order', input: { id } })),
  ]
}

/** Describes one order, from the results of the tools. */
function describe(
  id: string,
  order: Outcome<Order>,
  results: ReadonlyMap<string, Outcome<JsonValue>>,
): string {
  if (order.problem !== undefined) return `I cannot help with ${id}: ${order.problem}.`
  const { item, total, status } = order.value
  const what = `${id}, ${item} for ${euros(total)},`

  const refund = results.get(`refund_order ${id}`) as Outcome<{ refunded: number }> | undefined
  if (refund?.problem !== undefined) return `${what} is not refunded: ${refund.problem}.`
  if (refund) return `Done: ${euros(refund.value.refunded)} for ${id} is on its way back to you.`

  const parcel = results.get(`track_parcel ${id}`) as Outcome<Parcel & { place: string }> | undefined
  if (!parcel) return `${what} is ${status}.`
  if (parcel.problem !== undefined) return `${what} is ${status}, and no carrier has it: ${parcel.problem}.`
  const { carrier, place, due } = parcel.value
  return status === 'on its way'
    ? `${what} is with ${carrier}, now ${place}, and due on ${due}.`
    : `${what} is ${status}; ${carrier} left it ${place} ${due}.`
}

function describeAll(orders: readonly Order[], besides: boolean): string {
  const lines = orders.map(({ id, item, total, status }) => `- ${id}: ${item}, ${euros(total)}, ${status}`)
  return [besides ? 'You also ordered:' : 'Your orders:', ...lines].join('\n')
}

function help(question: string): string {
  const asked = question.trim().slice(0, 60)
  return [
    `I am only a script and do not understand "${asked}". Try one of these:`,
    '- Where is ORD-42? (two tools run in parallel)',
    '- Refund ORD-43 (needs your approval)',
    '- What did I order?',
    '- Where are ORD-44 and ORD-99? (see what a failing tool looks like)',
  ].join('\n')
}

/** The results of the calls in these messages, by tool and order. */
function resultsOf(messages: readonly Message[]): Map<string, Outcome<JsonValue>> {
  const calls = messages.flatMap(toolCallsOf)
  const results = new Map<string, Outcome<JsonValue>>()
  for (const message of messages) {
    if (message.role !== 'tool') continue
    const call = calls.find(({ callId }) => callId === message.callId)
    const json = message.content.find((part) => part.type === 'json')
    // "The tool failed: there is no order ORD-99": the reason is the part after the colon.
    const problem = textOf(message)
      .replace(/^[^:]*: /, '')
      .replace(/\.$/, '')
    results.set(`${message.name} ${call?.input.id ?? ''}`, json ? { value: json.value } : { problem })
  }
  return results
}

function lastIds(messages: readonly Message[]): string[] {
  const spoken = messages.filter(({ role }) => role === 'user').map((message) => idsIn(textOf(message)))
  return spoken.findLast((ids) => ids.length > 0) ?? []
}
