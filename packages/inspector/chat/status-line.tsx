import type { LogView } from 'millrace/view'
import { statusOf } from 'millrace/view'
import { useEffect } from 'preact/hooks'
import { lostAt, now } from '../clock.ts'
import { clockTime, duration } from '../format.ts'
import type { Session } from '../session.ts'
import { showNotice } from '../state.ts'
import { partialTranscript } from '../voice/voice.ts'
import { NewThreadButton } from './missing-thread.tsx'

/** Connection problems, the partial transcript, and how long the model has been silent. */
export function StatusLine({ session }: { readonly session: Session }) {
  const { value: connection } = session.connection
  const { value: problem } = session.problem
  const since = session.tick.value < 0 ? undefined : silentSince(session.log)
  useEffect(() => {
    if (connection === 'live' && session.outages.length > 0) showNotice('Reconnected.')
  }, [connection])
  const lines = {
    loading: 'Loading…',
    live: '',
    reconnecting: lostText(session),
    gone: problem,
    failed: session.entries.length > 0 ? `Can't load this thread: ${problem}` : '',
  }
  return (
    <div class="chat-line chat-quiet">
      <p role="status" class={problem && 'chat-problem'}>
        {lines[connection]}
      </p>
      {connection === 'gone' && <NewThreadButton />}
      {partialTranscript.value && <p>You: {partialTranscript.value}</p>}
      {since !== undefined && connection === 'live' && (
        <p class="chat-phase">
          <span class="chat-dot" data-tone="live" />
          Waiting for the model {duration(now.value - since)}
        </p>
      )}
    </div>
  )
}

/** What is shown is as old as the last update. */
function lostText({ entries }: Session): string {
  const { value: at } = lostAt
  if (at === undefined || entries.length === 0) return 'Connection lost. Reconnecting…'
  return `Connection lost · last update ${clockTime(at)} · reconnecting…`
}

/** Since when an input waits for a run, or a run for the first output of the model. */
function silentSince(log: LogView): number | undefined {
  const { run, round } = log.open
  if (statusOf(log) === 'queued') return log.waiting.at(-1)?.at
  if (!round) return run?.startedAt
  return round.firstAt === undefined && !round.end ? round.startedAt : undefined
}
