import type { CallView, LogView, Row, TextView } from 'millrace/view'
import { partialJson } from 'millrace/view'
import type { AnswerCall, AnswerPart, AnswerText, ThreadMessage, ToolRequest } from './messages.ts'
import { reuse } from './reuse.ts'

interface Reader {
  read(): AnswerPart
}

/** A conversation inside a call. */
interface Inner {
  read(): readonly ThreadMessage[]
}

/**
 * Snapshots of rows: a new object whenever the version of the row has changed. A row costs what was
 * added to it.
 */
export function partSnapshots(innerList: (view: LogView) => Inner) {
  const made = new WeakMap<Row, { version: number; part: AnswerPart; reader: Reader }>()
  return {
    /** Undefined for rows that are not a part of an answer. */
    read(row: Row): AnswerPart | undefined {
      if (row.kind === 'end' || row.kind === 'input') return undefined
      const { version } = row
      const before = made.get(row)
      if (before?.version === version) return before.part
      const reader = before?.reader ?? readerOf(row, innerList)
      const part = reader.read()
      made.set(row, { version, part, reader })
      return part
    },
  }
}

function readerOf(row: Exclude<Row, { kind: 'end' | 'input' }>, innerList: (view: LogView) => Inner): Reader {
  if (row.kind === 'call') return callReader(row, innerList)
  if (row.kind !== 'notice') return textReader(row)
  const { kind, key, notice, text, detail } = row
  return { read: () => ({ kind, key, notice, text, ...(detail !== undefined && { detail }) }) }
}

function textReader(row: TextView): Reader {
  const { kind, key, text } = row
  const growing = joiner(text.pieces, '', (joined, piece) => joined + piece)
  return {
    read: (): AnswerText => ({
      kind,
      key,
      text: growing(),
      isStreaming: !text.closed,
      ...(row.played !== undefined && { played: row.played }),
    }),
  }
}

/** Folds pieces that are only ever added, each once. */
function joiner<Value>(pieces: readonly string[], start: Value, add: (value: Value, piece: string) => Value) {
  let value = start
  let count = 0
  return () => {
    for (; count < pieces.length; count++) value = add(value, pieces[count] as string)
    return value
  }
}

function callReader(call: CallView, innerList: (view: LogView) => Inner): Reader {
  const { kind, key, callId, name } = call
  const parse = joiner(call.raw.pieces, partialJson(), (json, piece) => {
    json.push(piece)
    return json
  })
  let inner: Inner | undefined
  let requests: readonly ToolRequest[] = []
  return {
    read(): AnswerCall {
      const { state, display, changedInput, problem, printed, result, provider, startedAt, endedAt } = call
      if (call.inner) inner ??= innerList(call.inner)
      requests = reuse(requests, openRequests(call))
      return {
        kind,
        key,
        callId,
        name,
        state,
        input: call.input ?? copyOfObject(provider?.input ?? parse().value),
        requests,
        printed,
        progress: [...call.progress],
        messages: inner?.read() ?? [],
        ...(display && { display }),
        ...(changedInput && { changedInput }),
        ...(problem !== undefined && { problem }),
        ...(result && { result }),
        ...(provider && { provider }),
        ...(startedAt !== undefined && { startedAt }),
        ...(endedAt !== undefined && { endedAt }),
      }
    },
  }
}

/** What waits for a decision or a result, in the call or in its sub-agent. */
export function openRequests({ approvals, result }: CallView): ToolRequest[] {
  return result ? [] : approvals.flatMap(({ request, decision }) => (decision ? [] : [request]))
}

type Json = Exclude<ReturnType<typeof partialJson>['value'], undefined>

/** The value of a parser grows in place. */
function copyOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(copyOf)
  return value && typeof value === 'object'
    ? Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, copyOf(inside as Json)]))
    : value
}

function copyOfObject(value: Json | undefined): CallView['input'] {
  const copy = value === undefined ? undefined : copyOf(value)
  return copy && typeof copy === 'object' && !Array.isArray(copy) ? (copy as CallView['input']) : undefined
}
