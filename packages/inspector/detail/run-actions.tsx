import type { RoundView, RunView } from 'millrace/view'
import { openAgentView, openCompare, openPlayground } from '../extra-view.tsx'
import type { Session } from '../session.ts'

/** What can be done with a run. */
export function RunActions({ session, run }: { readonly session: Session; readonly run: RunView }) {
  if (session.isReadOnly) return null
  return (
    <div class="detail-actions">
      <button type="button" onClick={() => openCompare(session, run)}>
        Compare…
      </button>
      {/* The server may not know a sub-agent. */}
      {session.log.runs.includes(run) && (
        <button type="button" onClick={() => openAgentView(run.agent, session)}>
          Show agent
        </button>
      )}
    </div>
  )
}

export function RoundActions({ session, round }: { readonly session: Session; readonly round: RoundView }) {
  // What a sub-agent read is not in the log of the thread.
  if (session.isReadOnly || !session.log.runs.includes(round.run)) return null
  return (
    <div class="detail-actions">
      <button type="button" onClick={() => openPlayground(session, round)}>
        Open in playground
      </button>
    </div>
  )
}
