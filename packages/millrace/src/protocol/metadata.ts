import { invalidInput, messageOf } from './errors.ts'
import type { MetadataEvent } from './events.ts'
import type { JsonObject, JsonValue } from './json.ts'
import { isJsonObject, isObject, kindOf, toJson } from './json.ts'
import type { Problem } from './option-table.ts'
import { anObject } from './option-table.ts'

/**
 * Metadata is part of every list and every run, so it is meant for labels and small state. Larger
 * data belongs in messages.
 */
export const maxMetadataBytes = 16 * 1024

/** The metadata of a thread as a fold of its log. */
export interface MetadataState {
  /** What the thread was created with. */
  readonly initial: JsonObject
  /** Replaced by each change. */
  current: JsonObject
  /** Patches of the current run that have no number yet, in order. */
  readonly unnumbered: JsonObject[]
  /** Whether any event has a number. */
  isNumbered: boolean
}

/** Applies a JSON merge patch (RFC 7396). What the patch does not touch is shared, not copied. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  // A map, since assigning to a field named `__proto__` would do something else.
  const fields = new Map(Object.entries(target))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name)
    else fields.set(name, isJsonObject(value) ? mergePatch(objectIn(fields.get(name)), value) : value)
  }
  return Object.fromEntries(fields)
}

function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function emptyMetadata({ initial = {} }: MetadataEvent): MetadataState {
  return { initial, current: initial, unnumbered: [], isNumbered: false }
}

/** Applies an event that has a number. */
export function applyMetadata(state: MetadataState | undefined, event: MetadataEvent): MetadataState {
  const metadata = state ?? emptyMetadata(event)
  // Those without a number get later ones. To apply a patch again after others changes only what
  // they have changed.
  for (const patch of [event.patch, ...metadata.unnumbered])
    metadata.current = mergePatch(metadata.current, patch)
  metadata.isNumbered = true
  return metadata
}

/** Applies an event of the current run. Call `numberMetadata` once it has a number. */
export function appendMetadata(state: MetadataState | undefined, event: MetadataEvent): MetadataState {
  const metadata = state ?? emptyMetadata(event)
  metadata.current = mergePatch(metadata.current, event.patch)
  metadata.unnumbered.push(event.patch)
  return metadata
}

/** The oldest event without a number has got one. */
export function numberMetadata(state: MetadataState | undefined): void {
  if (!state) return
  state.unnumbered.shift()
  state.isNumbered = true
}

/** The metadata after the events of a run outside of a thread; undefined if none changed it. */
export function foldMetadata(events: Iterable<{ readonly type: string }>): MetadataState | undefined {
  let state: MetadataState | undefined
  for (const event of events)
    if (event.type === 'metadata') state = applyMetadata(state, event as MetadataEvent)
  return state
}

/**
 * The event for a patch. The first one in a log also has what the thread was created with, and so
 * have others that may become the first one.
 */
export function metadataEvent(
  state: MetadataState | undefined,
  patch: JsonObject,
  initial: JsonObject = {},
): MetadataEvent {
  const isFirst = !state?.isNumbered && Object.keys(initial).length > 0
  return { type: 'metadata', patch, ...(isFirst && { initial }) }
}

export function metadataProblem(value: unknown): Problem {
  return anObject(value) || tooLong(value)
}

/** Checks a patch of this metadata. It may always make the metadata shorter. */
export function readPatch(patch: unknown, current: JsonObject, op: string): JsonObject {
  if (!isObject(patch))
    throw invalidInput(
      op,
      `the patch must be an object, whose null values remove fields, not ${kindOf(patch)}`,
    )
  const read = asJson(patch, op)
  const problem = tooLong(read)
  if (problem) throw invalidInput(op, `the patch ${problem}`)
  const changed = mergePatch(current, read)
  const excess = tooLong(changed)
  if (excess && bytesOf(changed) > bytesOf(current))
    throw invalidInput(op, `the patch makes the metadata too long: it ${excess}`)
  return read
}

function asJson(patch: object, op: string): JsonObject {
  try {
    return toJson(patch) as JsonObject
  } catch (error) {
    throw invalidInput(op, `the patch must be JSON: ${messageOf(error)}`)
  }
}

function tooLong(value: unknown): Problem {
  const bytes = bytesOf(value)
  return bytes > maxMetadataBytes && `must be at most ${maxMetadataBytes} bytes of JSON, not ${bytes}`
}

const encoder = new TextEncoder()

function bytesOf(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length
}
