import { joinEntries } from '../../packages/millrace/src/log/entries.ts'
import type { CallStatus, Entry, Outcome, ThreadEvent } from '../../packages/millrace/src/protocol/index.ts'
import {
  applyEntry,
  conversationOf,
  emptyThread,
  findUnpaired,
  nextThreadAction,
} from '../../packages/millrace/src/protocol/index.ts'
import type { Action } from './actions.ts'
import type { Conversation } from './conversation.ts'
import { type DeskTool, repeats } from './desk.ts'
import type { Scenario } from './scenario.ts'
import { messageText, purposeOf, wordsOf } from './scenario.ts'

type Event<Type extends ThreadEvent['type']> = Extract<ThreadEvent, { type: Type }>

export interface CheckInput {
  readonly conversation: Pick<Conversation, 'id' | 'readers' | 'sent'>
  readonly log: readonly Entry[]
  readonly actions: readonly Action[]
  readonly scenario: Scenario
}

/** Everything that is wrong with a conversation. */
export function problemsOf(input: CheckInput): string[] {
  const { conversation, log } = input
  const { id } = conversation
  const problems = [
    ...numberProblems(log),
    ...readerProblems(input),
    ...endProblems(input),
    ...wordProblems(input),
    ...actionProblems(input),
  ]
  return problems.map((problem) => `${id}: ${problem}`)
}

export function eventsOf<Type extends ThreadEvent['type']>(log: readonly Entry[], type: Type): Event<Type>[] {
  return log.flatMap(({ event }) => (event.type === type ? [event as Event<Type>] : []))
}

/** How often processes were lost at moments that are handled in different ways. */
export function countLosses(log: readonly Entry[]) {
  const starts = eventsOf(log, 'tool-start')
  return {
    lost: eventsOf(log, 'run-start').filter(({ losses }) => losses).length,
    retracted: eventsOf(log, 'round-retract').length,
    kept: eventsOf(log, 'round-end').filter(({ finish, error }) => finish === 'interrupted' && !error).length,
    unknown: eventsOf(log, 'tool-result').filter(({ status }) => status === 'unknown').length,
    repeated: starts.filter(({ name, attempt }) => name !== 'helper' && attempt > 1).length,
    resumed: starts.filter(({ name, attempt }) => name === 'helper' && attempt > 1).length,
    approved: eventsOf(log, 'approval').length,
  }
}

/** Entries are numbered 1, 2, 3, … without gaps. */
function numberProblems(entries: readonly Entry[]): string[] {
  let last = 0
  return entries.flatMap(({ seq, from = seq }) => {
    const problem = from === last + 1 && seq >= from ? [] : [`after ${last} came ${from} to ${seq}`]
    last = seq
    return problem
  })
}

/** Every reader has read the same, however deltas were joined. */
function readerProblems({ conversation, log }: CheckInput): string[] {
  const whole = asText(log)
  return conversation.readers.flatMap(({ name, entries }) => {
    const read = asText(entries)
    const index = whole.findIndex((entry, index) => entry !== read[index])
    const differs = index >= 0 || read.length !== whole.length
    return [
      ...numberProblems(entries).map((problem) => `${name} ${problem}`),
      ...(differs ? [`${name} read ${read[index]} where the log has ${whole[index]}`] : []),
    ]
  })
}

function asText(entries: readonly Entry[]): string[] {
  return joinEntries(entries).map(({ seq, from = seq, at, event }) =>
    JSON.stringify({ from, seq, at, event }),
  )
}

/**
 * Every message is in the log once and was an input of one run, and the history is valid for a
 * provider.
 */
function endProblems({ conversation, log }: CheckInput): string[] {
  const state = emptyThread()
  for (const entry of log) applyEntry(state, entry)
  const { id, sent } = conversation
  const inputs = log.filter(({ event }) => event.type === 'input')
  const messages = eventsOf(log, 'input').map(({ message }) => message.content)
  const expected = Array.from({ length: sent() }, (_, index) => messageText(id, index + 1))
  const taken = log.flatMap(({ event }) => ('inputs' in event ? (event.inputs ?? []) : []))
  // A steering message is taken before queued ones.
  taken.sort((a, b) => a - b)
  const bad = eventsOf(log, 'run-end').filter(({ outcome }) => !good.has(outcome))
  const unpaired = findUnpaired(conversationOf(state))
  return [
    ...(nextThreadAction(state).type === 'idle' ? [] : ['it has not ended']),
    ...(String(messages) === String(expected) ? [] : [`has the messages ${messages}, expected ${expected}`]),
    ...(String(taken) === String(inputs.map(({ seq }) => seq)) ? [] : [`took the inputs ${taken}`]),
    ...bad.map(({ outcome, error }) => `a run ended as ${outcome}: ${JSON.stringify(error)}`),
    ...(unpaired ? [unpaired] : []),
  ]
}

const good: ReadonlySet<Outcome> = new Set(['completed', 'suspended', 'canceled'])

/** Every round has the model's output for it, or the start of it if it was interrupted. */
function wordProblems({ conversation: { id }, log, scenario }: CheckInput): string[] {
  const problems: string[] = []
  const spoken = new Map(
    log.flatMap(({ seq, event }) => (event.type === 'input' ? [[seq, String(event.message.content)]] : [])),
  )
  let position = { thread: id, message: 0, round: 0 }
  let output = { words: '', ops: [] as unknown[] }
  for (const { seq, event } of log) {
    const last = 'inputs' in event ? event.inputs?.at(-1) : undefined
    if (last !== undefined)
      position = { thread: id, message: Number(spoken.get(last)?.split(' ')[1]), round: 0 }
    if (event.type === 'round-start' || event.type === 'round-retract') output = { words: '', ops: [] }
    if (event.type === 'text') output.words += event.text
    if (event.type === 'tool-call') output.ops.push(purposeOf(event.input))
    if (event.type !== 'round-end') continue
    const steps = scenario(position)
    const words = wordsOf(steps)
    const ops = steps.flatMap((step) => ('call' in step ? [purposeOf(step.input)] : []))
    const isWhole = output.words === words && String(output.ops) === String(ops)
    const isBeginning = words.startsWith(output.words) && String(ops).startsWith(String(output.ops))
    if (!(event.finish === 'interrupted' ? isBeginning : isWhole))
      problems.push(
        `the round that ends at ${seq} (${event.finish}) has ${JSON.stringify(output)}, expected ${words}${ops}`,
      )
    position = { ...position, round: position.round + 1 }
  }
  return problems
}

/** The actions match the log, and no unrepeatable action was repeated. */
function actionProblems({ conversation: { id }, log, actions }: CheckInput): string[] {
  const problems: string[] = []
  const own = actions.filter(({ op }) => op.startsWith(`${id}.`))
  const started = own.filter(({ part }) => part === 'begin')
  const ended = own.filter(({ part }) => part === 'end')
  const all = log.map(withInner)
  const logged = new Set(eventsOf(all, 'tool-start').map(({ callId, attempt }) => `${callId} ${attempt}`))
  for (const [what, some] of Map.groupBy(started, ({ op, tool }) => `${tool} ${op}`)) {
    const [{ tool }] = some as [Action]
    if (repeats[tool as DeskTool] === 'never' && some.length > 1)
      problems.push(
        `${what} must never be repeated and was done ${some.length} times: ${JSON.stringify(some)}`,
      )
  }
  for (const [callId, some] of Map.groupBy(started, ({ callId }) => callId))
    if (new Set(some.map(({ key }) => key)).size > 1) problems.push(`${callId} had several keys`)
  for (const [what, some] of Map.groupBy(started, ({ callId, attempt }) => `${callId} ${attempt}`)) {
    if (!logged.has(what)) problems.push(`${what} ran, but the log has no start of it`)
    if (some.length > 1) problems.push(`${what} ran ${some.length} times`)
  }
  for (const { at, event } of all) {
    if (event.type !== 'tool-result') continue
    const { callId, name, status, output } = event
    if (!expected.has(status))
      problems.push(`${callId} (${name}) has the status ${status}: ${JSON.stringify(output)}`)
    if (status !== 'ok' || !(name in repeats)) continue
    if (!ended.some((action) => action.callId === callId))
      problems.push(`${callId} has a result but was never done`)
    for (const action of started)
      if (action.callId === callId && action.at > at)
        problems.push(`${callId} started ${action.at - at} ms after its result was in the log`)
  }
  return problems
}

/** These tools never fail on their own. */
const expected: ReadonlySet<CallStatus> = new Set(['ok', 'unknown', 'denied', 'canceled'])

/** Unwraps the events of a sub-agent. */
function withInner({ event, ...entry }: Entry): Entry {
  return { ...entry, event: event.type === 'tool-progress' ? (event.event ?? event) : event }
}
