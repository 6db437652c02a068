import type { LogView } from 'millrace/view'
import { statusOf } from 'millrace/view'
import { useEffect } from 'preact/hooks'
import { now } from '../clock.ts'
import { duration } from '../format.ts'
import type { Session } from '../session.ts'
import { say } from '../state.ts'
import { understood } from '../voice/voice.ts'

/** How it stands with the server where it is not as it should be, and that something is going on though nothing is to be seen of it. */
export function StatusLine({ session }: { readonly session: Session }) {
  const { value: connection } = session.connection
  const { value: problem } = session.problem
  const since = session.tick.value < 0 ? undefined : silentSince(session.log)
  useEffect(() => {
    if (connection === 'live' && session.absences.length > 0) say('The connection is back.')
  }, [connection])
  const lines = {
    loading: 'Reading …',
    live: '',
    away: 'Connection lost. It comes back by itself.',
    gone: problem,
    failed: `This cannot be read: ${problem}`,
  }
  return (
    <div class="chat-line chat-quiet">
      <p role="status" class={problem && 'chat-problem'}>
        {lines[connection]}
      </p>
      {understood.value && <p>You: {understood.value}</p>}
      {since !== undefined && connection === 'live' && (
        <p class="chat-phase">
          <span class="chat-dot" data-tone="live" />
          Waiting for the model {duration(now.value - since)}
        </p>
      )}
    </div>
  )
}

/** Since when nobody has taken the work up yet, or the model is silent. */
function silentSince(log: LogView): number | undefined {
  const { run, round } = log.open
  if (statusOf(log) === 'queued') return log.waiting.at(-1)?.at
  if (!round) return run?.startedAt
  return round.firstAt === undefined && !round.end ? round.startedAt : undefined
}
