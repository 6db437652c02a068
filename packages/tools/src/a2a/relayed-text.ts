import type { RunEvent } from 'millrace'
import { noUsage, PROTOCOL_VERSION } from 'millrace'
import type { RemoteCard } from './remote-card.ts'

/**
 * The text of the remote agent as the events of a sub-agent: one run with one round. The id of the
 * run is that of the task, by which another process continues.
 */
export function relayedText(relay: (event: RunEvent) => void, { endpoint }: RemoteCard) {
  const model = new URL(endpoint).host
  let text = ''
  let isOpen = false
  const round = 1

  function add(delta: string) {
    if (!delta || !isOpen) return
    text += delta
    relay({ type: 'text', text: delta })
  }

  return {
    get isOpen() {
      return isOpen
    },
    /** What an earlier process has relayed. */
    restore(events: readonly RunEvent[]) {
      for (const event of events) {
        if (event.type === 'round-retract') text = ''
        if (event.type === 'text') text += event.text
      }
    },
    open(runId: string, { name, prompt, isResumed }: { name: string; prompt: string; isResumed: boolean }) {
      isOpen = true
      relay({
        ...{ type: 'run-start', version: PROTOCOL_VERSION, runId, agent: name },
        input: isResumed ? [] : [{ role: 'user', content: prompt }],
        ...(isResumed && { resumes: runId }),
      })
      if (!isResumed) relay({ type: 'round-start', round, model })
    },
    add,
    /** Replaces the text, if it is not a continuation. */
    set(next: string) {
      if (!next.startsWith(text)) {
        relay({ type: 'round-retract', round, reason: 'the agent replaced its answer' })
        relay({ type: 'round-start', round, model })
        text = ''
      }
      add(next.slice(text.length))
    },
    end(outcome: 'completed' | 'failed' | 'suspended') {
      if (isOpen) relay({ type: 'run-end', outcome, usage: noUsage })
    },
  }
}
