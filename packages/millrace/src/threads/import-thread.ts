import { pause } from '../log/index.ts'
import type { Entry, ExportedThread, MillraceError } from '../protocol/index.ts'
import {
  applyEntry,
  checkVersion,
  emptyThread,
  invalidInput,
  isObject,
  isRunEvent,
  kindOf,
  messageOf,
  metadataProblem,
  nameOf,
  nextThreadAction,
  PROTOCOL_VERSION,
  spentIn,
  textOfDelta,
  titleFrom,
  upgradeEvent,
} from '../protocol/index.ts'
import { readImportedEvent } from './imported-events.ts'

/** The last time that a `Date` can have. */
const maxTime = 8.64e15

/** How many entries are read in one step. */
const stepLength = 64

/**
 * The log of an exported thread, checked. It can come from anyone, so nothing in it may start to run
 * and nothing it allows counts: what has not ended is stopped, approvals are not remembered, and
 * messages that wait are answered without what came with them.
 */
export async function readExported(exported: ExportedThread, op: string) {
  const { version, thread } = exported
  if (!Array.isArray(exported.entries) || typeof version !== 'number' || !isObject(thread as unknown))
    throw invalidInput(op, 'this is not an exported thread: it needs version, thread and entries')
  checkVersion(version, op)
  const damaged = (problem: string) => invalidInput(op, `the exported thread is damaged: ${problem}`)
  const state = emptyThread()
  const entries: Entry[] = []

  function add(entry: Entry) {
    try {
      applyEntry(state, entry)
    } catch (cause) {
      throw damaged(`entry ${entry.seq} cannot follow the entries before it: ${messageOf(cause)}`)
    }
    entries.push(entry)
  }

  const isOld = version < PROTOCOL_VERSION
  for (const [index, given] of exported.entries.entries()) {
    if (index % stepLength === 0) await pause(index / stepLength)
    add(readEntry(given, { head: state.head, isOld, damaged }))
  }
  const { at = Date.now() } = entries.at(-1) ?? {}
  if (nextThreadAction(state).type !== 'idle')
    add({ seq: state.head + 1, at, event: { type: 'stop', reason: 'the thread was imported here' } })
  if (!['idle', 'cancel'].includes(nextThreadAction(state).type))
    throw damaged('its last run cannot be stopped')
  const { nanos, tokens, ms } = spentIn(state)
  if (Math.max(nanos, tokens, ms) > Number.MAX_SAFE_INTEGER)
    throw damaged('it has cost more than any thread can cost')
  // Every list with the thread would return it.
  const problem = state.metadata && metadataProblem(state.metadata.current)
  if (problem) throw damaged(`its metadata ${problem}`)
  const title = typeof thread.title === 'string' ? titleFrom(thread.title) : ''
  return { entries, ...(title && { title }) }
}

interface ReadOptions {
  /** The number of the entry before. */
  readonly head: number
  readonly isOld: boolean
  readonly damaged: (problem: string) => MillraceError
}

function readEntry(given: Entry, { head, isOld, damaged }: ReadOptions): Entry {
  const next = head + 1
  if (!isObject(given as unknown) || !isObject(given.event as unknown))
    throw damaged(`entry ${next} must be { seq, at, event }, not ${kindOf(given)}`)
  const { seq, from = seq, at } = given
  if (from !== next || !Number.isInteger(seq) || seq < from)
    throw damaged(`entry ${next} has the number ${nameOf(from)}: numbers must count from 1 without gaps`)
  if (!Number.isInteger(at) || at < 0 || at > maxTime)
    throw damaged(`entry ${next} has the time ${nameOf(at)}: it must be milliseconds since the Unix epoch`)
  const read = readImportedEvent({ ...(isOld ? upgradeEvent(given.event) : given.event) })
  if ('problem' in read) throw damaged(`entry ${next} ${read.problem}`)
  const { event } = read
  // Deltas are never empty.
  const most = (isRunEvent(event) && textOfDelta(event)?.length) || 1
  if (seq + 1 - from > most) throw damaged(`entry ${next} cannot stand for ${seq + 1 - from} numbers`)
  return { seq, ...(from < seq && { from }), at, event }
}
