import type { RunView } from 'millrace/view'
import './timeline.css'
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { runTimes, timesText, usageText } from '../chat/outcome.ts'
import { outcomeLabels } from '../chat/strings.ts'
import { now } from '../clock.ts'
import { costText } from '../cost.ts'
import { ConnectionNote } from '../detail/connection-note.tsx'
import { speedText, tokensPerSecond } from '../detail/figures.ts'
import { clockTime, number, plural } from '../format.ts'
import { Icon } from '../icons.tsx'
import type { Session } from '../session.ts'
import { selectedRun, selection, showNotice } from '../state.ts'
import type { Chart } from './chart.ts'
import { legend } from './labels.ts'
import { isLive, layout } from './layout.ts'
import type { Replay } from './replay.ts'
import { originalEntries, replay } from './replay.ts'
import { ReplayView } from './replay-view.tsx'
import { TimesTable } from './table.tsx'
import { Waterfall } from './waterfall.tsx'

/** How many runs the list offers, around the selected one. */
const maxRuns = 100

/** The chart of a run, and its replay. */
export function Timeline({ session }: { readonly session: Session }) {
  const { runs } = session.log
  // The selected run may belong to another thread.
  const picked = runs.find((one) => one === selectedRun.value)
  const run = picked ?? runs.at(-1)
  // A live run is updated by the clock, an ended one by changes of the log.
  if (run && isLive(run)) now.value
  else session.tick.value
  if (!run)
    return (
      <div class="timeline">
        <ConnectionNote session={session} />
        {session.connection.value === 'live' && <p class="quiet">No runs in this thread yet.</p>}
      </div>
    )
  const first = Math.max(0, Math.min(runs.indexOf(run) - maxRuns / 2, runs.length - maxRuns))
  return (
    <div class="timeline">
      <select
        aria-label="Run"
        // Empty: always the latest run.
        value={picked?.seq ?? ''}
        onChange={({ currentTarget }) => {
          const chosen = runs.find(({ seq }) => `${seq}` === currentTarget.value)
          selection.value = chosen && { kind: 'run', run: chosen }
        }}
      >
        <option value="">Latest run</option>
        {runs.slice(first, first + maxRuns).map((one, index) => {
          const { seq, startedAt, agent, outcome } = one
          return (
            <option key={seq} value={seq}>
              {[
                `Run ${first + index + 1}`,
                clockTime(startedAt),
                agent,
                outcome ? outcomeLabels[outcome] : 'Running',
                timesText(runTimes(one, now.peek())),
              ].join(' · ')}
            </option>
          )
        })}
      </select>
      <RunChart key={run.seq} session={session} run={run} />
    </div>
  )
}

function RunChart({ session, run }: { readonly session: Session; readonly run: RunView }) {
  const replayed = useSignal<Replay | undefined>(undefined)
  const { entries, outages } = session
  const live = isLive(run)
  // Five times a second, less often for long runs.
  const stepMs = 200 * Math.ceil((run.lastSeq - run.seq + 1) / 10_000)
  const version = live ? Math.floor(now.value / stepMs) : run.version
  const chart = useMemo(
    () => layout(entries, run, { now: now.peek(), outages }),
    [entries, run, version, outages],
  )

  async function toggleReplay() {
    if (replayed.value) {
      replayed.value = undefined
      return
    }
    try {
      // A live run is replayed up to now.
      replayed.value = replay(await originalEntries(session, run), chart)
    } catch {
      showNotice("Can't load the run.")
    }
  }

  return (
    <>
      <ConnectionNote session={session} />
      <p>{summaryOf(run, chart)}</p>
      <Waterfall chart={chart} head={replayed.value?.time}>
        <button
          class="timeline-right"
          type="button"
          aria-expanded={replayed.value !== undefined}
          onClick={toggleReplay}
        >
          <Icon name="play" /> Replay
        </button>
      </Waterfall>
      <ul class="timeline-legend" aria-label="Legend">
        {legend.map(([kind, label]) => (
          <li key={kind}>
            <span data-phase={kind} data-bad={kind === 'bad'} />
            {label}
          </li>
        ))}
      </ul>
      {replayed.value && <ReplayView replay={replayed.value} />}
      <TimesTable chart={chart} />
    </>
  )
}

/** The same times and costs as in the chat. */
function summaryOf(run: RunView, { end, live, lanes }: Chart): string {
  const { rounds, calls, outcome, usage } = run
  const first = lanes[0]?.marks.find(({ kind }) => kind === 'first')
  const speed = tokensPerSecond(rounds)
  return [
    outcome ? outcomeLabels[outcome] : 'Running',
    `${timesText(runTimes(run, end))}${live ? ' so far' : ''}`,
    first?.what.toLowerCase(),
    speed && speedText(speed),
    usageText(run),
    usage.reasoningTokens > 0 && `${number(usage.reasoningTokens)} reasoning`,
    costText(run.spent),
    plural(rounds.length, 'round'),
    plural(calls.length, 'call'),
  ]
    .filter(Boolean)
    .join(' · ')
}
