import type { ThreadEvent, ThreadStore } from 'millrace'
import type { NewThread } from 'millrace/store'
import { messageFor } from './conversation.ts'

/** The id of the very long thread. */
export const longThread = 'long'

const noUsage = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
}

const roundsPerRun = 140
/** A commit of this many events takes about 30 ms. */
const eventsPerBatch = 5000
const leaseMs = 600_000

/**
 * Writes a thread of about this many entries, like an agent that calls a tool in every round and
 * whose conversation is summarized with every run. No entries can be joined, so the log stays long.
 */
export async function writeLongThread(
  store: Pick<ThreadStore, 'create' | 'signal' | 'claim' | 'append' | 'release'>,
  { entries, ...thread }: NewThread & { readonly entries: number },
): Promise<void> {
  const { id } = thread
  const write = async (head: number, events: readonly ThreadEvent[]) => {
    const claim = await store.claim(id, `bench ${head}`, leaseMs)
    if (!claim) throw new Error('cannot claim the long thread')
    const { lease } = claim
    for (let at = 0, number = 1; at < events.length; at += eventsPerBatch, number++)
      await store.append([{ lease, number, events: events.slice(at, at + eventsPerBatch) }])
    await store.release(claim.lease, { head: head + events.length, status: 'idle' })
    return head + events.length
  }
  await store.create(thread)
  for (let head = 0, run = 0; head < entries; run++) {
    const message = { role: 'user', content: messageFor(id, 'greet') } as const
    const { entry } = await store.signal(id, `${run}`, { type: 'input', message, mode: 'queue' })
    head = await write(entry.seq, [...runEvents(run, entry.seq)])
  }
}

function* runEvents(run: number, input: number): Generator<ThreadEvent> {
  const model = 'gpt-4.1-mini'
  const usage = { inputTokens: 10, outputTokens: 2 }
  yield { type: 'run-start', version: 1, runId: `run-${run}`, agent: 'desk', input: [], inputs: [input] }
  if (run > 0)
    yield {
      type: 'summary',
      // The summary before, the message, a call and a result for each round, and the answer.
      replaces: (run > 1 ? 1 : 0) + 2 + 2 * roundsPerRun,
      message: { role: 'user', content: `Orders were looked up ${run} times.` },
    }
  for (let round = 1; round <= roundsPerRun; round++) {
    const call = { callId: `call_${run}_${round}`, name: 'look_up_order' }
    const output = [{ type: 'text', text: `{"id":"ORD-${round}","status":"shipped"}` }] as const
    yield { type: 'round-start', round, model }
    yield { type: 'reasoning', text: 'The next one.' }
    yield { type: 'text', text: `Order ${round} comes next. ` }
    yield { type: 'tool-call', ...call, input: { id: `ORD-${round}` } }
    yield { type: 'tool-start', ...call, attempt: 1 }
    yield { type: 'round-end', round, model, finish: 'tool-calls', usage }
    yield { type: 'tool-result', ...call, output, status: 'ok', isError: false, ms: 30, overlapMs: 0 }
  }
  const round = roundsPerRun + 1
  yield { type: 'round-start', round, model }
  yield { type: 'text', text: 'All of them have shipped.' }
  yield { type: 'round-end', round, model, finish: 'stop', usage }
  yield { type: 'run-end', outcome: 'completed', finish: 'stop', usage: { ...noUsage, ...usage } }
}
