import type { ApprovalEvent, Entry, InputEvent, JsonObject, RunRequest } from '../../protocol/index.ts'
import { readLog } from '../../threads/index.ts'
import { findBefore, logOf } from '../answers.ts'
import type { Place } from '../model-api/index.ts'
import { decisionItem, functionOutputItem, itemsOf } from './response-items.ts'
import { approvalsIn } from './response-object.ts'

/** The request that a response answers, as it is in the log. */
export interface Origin {
  /** What came with it, or with the request before that it continues. */
  readonly request: RunRequest | undefined
  /** The message, results and decisions in it. */
  readonly entries: readonly OriginEntry[]
}

type OriginEntry = Entry & { readonly event: InputEvent | ApprovalEvent }

/** A request with more decisions than this shows only the last ones. */
const maxEntries = 64

export async function originOf({ thread, start }: Pick<Place, 'thread' | 'start'>): Promise<Origin> {
  const after = Math.max(0, start - maxEntries)
  const page = await thread.read({ after, limit: start - after, split: true })
  const read = page.filter(({ seq }) => seq <= start)
  const entries = read.slice(read.findLastIndex((entry) => !isOriginEntry(entry)) + 1).filter(isOriginEntry)
  const withRequest = (entry: Entry) => 'request' in entry.event && entry.event.request !== undefined
  const found = read.findLast(withRequest) ?? (await findBefore(thread, after, withRequest))
  const request = found && 'request' in found.event ? found.event.request : undefined
  return { request, entries }
}

function isOriginEntry(entry: Entry): entry is OriginEntry {
  const { event } = entry
  return event.type === 'approval' || (event.type === 'input' && event.mode !== 'correct')
}

/** The input of a response as items. */
export function originItems({ thread }: Place, { entries, request }: Origin): JsonObject[] {
  const approvals = approvalsIn(request)
  return entries.flatMap(({ seq, event }) => {
    const id = (prefix: string) => `${prefix}_${thread.id}_${seq}`
    if (event.type === 'input') return itemsOf(event.message, id)
    if (event.output) return [functionOutputItem(id('fco'), event.callId, event.output)]
    return [decisionItem(id('mcpa'), approvals.get(event.callId) ?? event.callId, event)]
  })
}

/** Whether a thread has no other response. */
export async function isAlone({ thread, start }: Place): Promise<boolean> {
  const starts: number[] = []
  for await (const page of readLog(logOf(thread), { after: 0 }))
    for (const entry of page) if (isOriginEntry(entry)) starts.push(entry.seq)
  return starts.every((seq) => seq === start)
}
