import type { Entry } from 'millrace/client'

type Event = Entry['event']

const usage = { inputTokens: 9, outputTokens: 3, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }

/** Events of a turn. None of them can be joined. */
const turnEvents = 20

/**
 * A conversation of short runs with one tool call each. Its last words are `Answer n.` for n turns.
 */
export function longLog(events: number): { readonly entries: readonly Entry[]; readonly turns: number } {
  const turns = events / turnEvents
  const entries: Entry[] = []
  for (let number = 1; number <= turns; number++)
    for (const event of turn(number, entries.length + 1))
      entries.push({ seq: entries.length + 1, at: 1_700_000_000_000 + entries.length * 7, event })
  return { entries, turns }
}

function turn(number: number, first: number): Event[] {
  const callId = `call_${number}`
  const runId = `run_${number}`
  const name = 'lookup_order'
  return [
    { type: 'input', message: { role: 'user', content: `Question ${number}?` }, mode: 'queue' },
    { type: 'run-start', version: 1, runId, agent: 'desk', input: [], inputs: [first] },
    { type: 'round-start', round: 1, model: 'm' },
    { type: 'text', text: `Looking for ${number}.` },
    { type: 'tool-input-start', callId, name },
    { type: 'tool-input', callId, delta: '{"id":' },
    { type: 'tool-call', callId, name, input: { id: number } },
    { type: 'tool-start', callId, name, attempt: 1 },
    ...Array.from({ length: 6 }, (_, step): Event => ({ type: 'tool-progress', callId, data: { step } })),
    {
      type: 'tool-result',
      callId,
      name,
      output: [{ type: 'json', value: { number } }],
      status: 'ok',
      isError: false,
      ms: 5,
      overlapMs: 1,
    },
    { type: 'round-end', round: 1, model: 'm', finish: 'tool-calls', usage },
    { type: 'round-start', round: 2, model: 'm' },
    { type: 'text', text: `**Answer ${number}.**` },
    { type: 'round-end', round: 2, model: 'm', finish: 'stop', usage },
    { type: 'run-end', outcome: 'completed', usage },
  ]
}
