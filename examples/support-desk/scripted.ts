import { providerSimulator } from '@millrace/simulator'
import { type JsonValue, type Message, type Model, textOf, toolCallsOf } from 'millrace'
import { openaiChat } from 'millrace/openai'
import type { ScriptRound, ScriptStep } from 'millrace/testing'
import { aloud, idsIn, isOnPhone } from './aloud.ts'
import { type Conversation, readConversation } from './conversation.ts'
import { euros, type Order, type Parcel } from './orders.ts'

/** About as fast as a real model speaks. */
const paceMs = 25

/**
 * A provider on this machine, with a model that understands keywords and order numbers. It is spoken to over a real socket, in Chat
 * Completions, like any other.
 */
export async function scriptedProvider(): Promise<{ readonly model: Model; close(): Promise<void> }> {
  const simulator = await providerSimulator(({ body }) => {
    const conversation = readConversation(body)
    return paced(nextRound(conversation), isOnPhone(conversation) ? aloud : String)
  })
  const { baseURL } = simulator
  const model = openaiChat('keyword-script', { baseURL, provider: 'simulator', apiKey: 'any' })
  return { model, close: () => simulator.close() }
}

/** The words come one by one, with a little time in between. */
function paced(round: ScriptRound, worded: (text: string) => string): ScriptStep[] {
  const steps = typeof round === 'string' ? [{ text: round }] : round
  return steps.flatMap((step): readonly ScriptStep[] => {
    if (!('text' in step)) return [step]
    const words = worded(step.text).match(/\s*\S+\s*$|\s*\S+/g) ?? []
    return words.flatMap((text) => [{ text }, { pause: paceMs }])
  })
}

/** What came of a call: the value it gave, or what went wrong. */
type Outcome<Value> =
  | { readonly value: Value; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: string }

/** Like any model it sees nothing but the conversation: what to do next follows from the question and the results so far. */
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
  // "Where is it?" means the orders that were spoken of last.
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
    // The slow one first: it runs while the arguments of the others are still being written.
    ...(wants.place ? [{ call: 'track_parcel', input: { id } }] : []),
    { call: 'lookup_order', input: { id } },
  ])
  if (wants.list) calls.push({ call: 'list_orders' })
  const subject = ids.length > 0 ? ids.join(' and ') : 'your orders'
  if (!wants.place || ids.length === 0) return [{ text: `Let me look up ${subject}.` }, ...calls]
  return [
    { text: `Let me look up ${subject} and ask the carrier.` },
    ...calls,
    // The tools are running by now: words and work go on side by side.
    { text: ' Carriers take a second or two to answer, so please bear with me for a moment.' },
  ]
}

function askRefund(orders: readonly Order[]): ScriptStep[] {
  const goods = orders.map(({ item, total }) => `${item} for ${euros(total)}`).join(' and ')
  return [
    { text: `That is ${goods}. Money only goes out when you agree.` },
    ...orders.map(({ id }) => ({ call: 'refund_order', input: { id } })),
  ]
}

/** One order in words, from what the tools said of it. */
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
  const heard = question.trim().slice(0, 60)
  return [
    `I am only a script, and "${heard}" is beyond me. Things I understand:`,
    '- Where is ORD-42? (two tools run side by side)',
    '- Refund ORD-43 (you are asked before it happens)',
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
    // "The tool failed: there is no order ORD-99" is told in the agent's words; the reason is what follows.
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
