import { joinEntries } from '../../packages/millrace/src/log/entries.ts'
import type { CallStatus, Entry, Outcome, ThreadEvent } from '../../packages/millrace/src/protocol/index.ts'
import {
  applyEntry,
  conversationOf,
  emptyThread,
  findUnpaired,
  nextThreadAction,
} from '../../packages/millrace/src/protocol/index.ts'
import type { Conversation } from './conversation.ts'
import type { Deed } from './deeds.ts'
import { type DeskTool, repeats } from './desk.ts'
import type { Plot } from './plot.ts'
import { messageText, purposeOf, wordsOf } from './plot.ts'

type Event<Type extends ThreadEvent['type']> = Extract<ThreadEvent, { type: Type }>

export interface Evidence {
  readonly conversation: Pick<Conversation, 'id' | 'readers' | 'said'>
  readonly log: readonly Entry[]
  readonly deeds: readonly Deed[]
  readonly plot: Plot
}

/** All that is wrong with a conversation, one line for each. */
export function faultsOf(evidence: Evidence): string[] {
  const { conversation, log } = evidence
  const { id } = conversation
  const faults = [
    ...numberFaults(log),
    ...readerFaults(evidence),
    ...endFaults(evidence),
    ...wordFaults(evidence),
    ...deedFaults(evidence),
  ]
  return faults.map((fault) => `${id}: ${fault}`)
}

export function eventsOf<Type extends ThreadEvent['type']>(log: readonly Entry[], type: Type): Event<Type>[] {
  return log.flatMap(({ event }) => (event.type === type ? [event as Event<Type>] : []))
}

/** 1, 2, 3, … each once. */
function numberFaults(entries: readonly Entry[]): string[] {
  let last = 0
  return entries.flatMap(({ seq, from = seq }) => {
    const fault = from === last + 1 && seq >= from ? [] : [`after ${last} came ${from} to ${seq}`]
    last = seq
    return fault
  })
}

/** Every reader has read the same, however it was cut into pieces. */
function readerFaults({ conversation, log }: Evidence): string[] {
  const whole = asText(log)
  return conversation.readers.flatMap(({ name, entries }) => {
    const read = asText(entries)
    const index = whole.findIndex((entry, index) => entry !== read[index])
    const differs = index >= 0 || read.length !== whole.length
    return [
      ...numberFaults(entries).map((fault) => `${name} ${fault}`),
      ...(differs ? [`${name} read ${read[index]} where the log has ${whole[index]}`] : []),
    ]
  })
}

function asText(entries: readonly Entry[]): string[] {
  return joinEntries(entries).map(({ seq, from = seq, at, event }) =>
    JSON.stringify({ from, seq, at, event }),
  )
}

/** Everything that was said is there once and was heard once, and the history could go to a provider as it is. */
function endFaults({ conversation, log }: Evidence): string[] {
  const state = emptyThread()
  for (const entry of log) applyEntry(state, entry)
  const { id, said } = conversation
  const inputs = log.filter(({ event }) => event.type === 'input')
  const spoken = eventsOf(log, 'input').map(({ message }) => message.content)
  const expected = Array.from({ length: said() }, (_, index) => messageText(id, index + 1))
  const heard = log.flatMap(({ event }) => ('heard' in event ? (event.heard ?? []) : []))
  // One that steers is heard before those that queue.
  heard.sort((a, b) => a - b)
  const bad = eventsOf(log, 'run-end').filter(({ outcome }) => !good.has(outcome))
  const unpaired = findUnpaired(conversationOf(state))
  return [
    ...(nextThreadAction(state).type === 'idle' ? [] : ['it has not ended']),
    ...(String(spoken) === String(expected) ? [] : [`was told ${spoken}, not ${expected}`]),
    ...(String(heard) === String(inputs.map(({ seq }) => seq)) ? [] : [`heard ${heard}`]),
    ...bad.map(({ outcome, error }) => `a run ended as ${outcome}: ${JSON.stringify(error)}`),
    ...(unpaired ? [unpaired] : []),
  ]
}

const good: ReadonlySet<Outcome> = new Set(['completed', 'suspended', 'cancelled'])

/** Every round has told what the model said there, or as far as it came: nobody else has written into it. */
function wordFaults({ conversation: { id }, log, plot }: Evidence): string[] {
  const faults: string[] = []
  const spoken = new Map(
    log.flatMap(({ seq, event }) => (event.type === 'input' ? [[seq, String(event.message.content)]] : [])),
  )
  let scene = { thread: id, message: 0, round: 0 }
  let told = { words: '', ops: [] as unknown[] }
  for (const { seq, event } of log) {
    const last = 'heard' in event ? event.heard?.at(-1) : undefined
    if (last !== undefined) scene = { thread: id, message: Number(spoken.get(last)?.split(' ')[1]), round: 0 }
    if (event.type === 'round-start' || event.type === 'round-retract') told = { words: '', ops: [] }
    if (event.type === 'text') told.words += event.text
    if (event.type === 'tool-call') told.ops.push(purposeOf(event.input))
    if (event.type !== 'round-end') continue
    const steps = plot(scene)
    const words = wordsOf(steps)
    const ops = steps.flatMap((step) => ('call' in step ? [purposeOf(step.input)] : []))
    const isWhole = told.words === words && String(told.ops) === String(ops)
    const isBeginning = words.startsWith(told.words) && String(ops).startsWith(String(told.ops))
    if (!(event.finish === 'interrupted' ? isBeginning : isWhole))
      faults.push(
        `the round that ends at ${seq} (${event.finish}) told ${JSON.stringify(told)}, not ${words}${ops}`,
      )
    scene = { ...scene, round: scene.round + 1 }
  }
  return faults
}

/** What was done in the world is what the log says, and nothing was done again that must not be. */
function deedFaults({ conversation: { id }, log, deeds }: Evidence): string[] {
  const faults: string[] = []
  const own = deeds.filter(({ op }) => op.startsWith(`${id}.`))
  const begun = own.filter(({ part }) => part === 'begin')
  const ended = own.filter(({ part }) => part === 'end')
  const all = log.map(withInner)
  const started = new Set(eventsOf(all, 'tool-start').map(({ callId, attempt }) => `${callId} ${attempt}`))
  for (const [what, some] of Map.groupBy(begun, ({ op, tool }) => `${tool} ${op}`)) {
    const [{ tool }] = some as [Deed]
    if (repeats[tool as DeskTool] === 'never' && some.length > 1)
      faults.push(`${what} must never be repeated and was done ${some.length} times: ${JSON.stringify(some)}`)
  }
  for (const [callId, some] of Map.groupBy(begun, ({ callId }) => callId))
    if (new Set(some.map(({ key }) => key)).size > 1) faults.push(`${callId} had several keys`)
  for (const [what, some] of Map.groupBy(begun, ({ callId, attempt }) => `${callId} ${attempt}`)) {
    if (!started.has(what)) faults.push(`${what} ran and the log has no start of it`)
    if (some.length > 1) faults.push(`${what} ran ${some.length} times`)
  }
  for (const { at, event } of all) {
    if (event.type !== 'tool-result') continue
    const { callId, name, status, output } = event
    if (!expected.has(status))
      faults.push(`${callId} (${name}) came out ${status}: ${JSON.stringify(output)}`)
    if (status !== 'ok' || !(name in repeats)) continue
    if (!ended.some((deed) => deed.callId === callId))
      faults.push(`${callId} has a result and was never done`)
    for (const deed of begun)
      if (deed.callId === callId && deed.at > at)
        faults.push(`${callId} was begun ${deed.at - at} ms after its result was in the log`)
  }
  return faults
}

/** Nothing that these tools do goes wrong by itself. */
const expected: ReadonlySet<CallStatus> = new Set(['ok', 'unknown', 'declined', 'cancelled'])

/** What an agent behind a tool tells stands for itself here. */
function withInner({ event, ...entry }: Entry): Entry {
  return { ...entry, event: event.type === 'tool-progress' ? (event.event ?? event) : event }
}
