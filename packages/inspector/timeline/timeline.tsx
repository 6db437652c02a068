import type { RunView } from 'millrace/view'
import './timeline.css'
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { now } from '../clock.ts'
import { clockTime, duration } from '../format.ts'
import { Icon } from '../icons.tsx'
import type { Session } from '../session.ts'
import { say, selectedRun, selection } from '../state.ts'
import type { Chart } from './chart.ts'
import { isLive, layout } from './layout.ts'
import type { Replay } from './replay.ts'
import { recorded, replay } from './replay.ts'
import { ReplayView } from './replay-view.tsx'
import { TimesTable } from './table.tsx'
import { Waterfall } from './waterfall.tsx'
import { legend, plural } from './words.ts'

/** A list of thousands is of no use to anybody. These are around the one that is shown, so that all can be reached. */
const mostRuns = 100

/** How a run went, and a way to watch it again. */
export function Timeline({ session }: { readonly session: Session }) {
  const { runs } = session.log
  // What was chosen may be a run of another thread.
  const picked = runs.find((one) => one === selectedRun.value)
  const run = picked ?? runs.at(-1)
  // Five times a second is enough for what grows; what is over changes when the log does.
  if (run && isLive(run)) now.value
  else session.tick.value
  if (!run) return <p class="timeline quiet">Nothing has run in this thread yet.</p>
  const first = Math.max(0, Math.min(runs.indexOf(run) - mostRuns / 2, runs.length - mostRuns))
  return (
    <div class="timeline">
      <select
        aria-label="Run"
        // Without a number it is the newest, whichever that is.
        value={picked?.seq ?? ''}
        onChange={({ currentTarget }) => {
          const chosen = runs.find(({ seq }) => `${seq}` === currentTarget.value)
          selection.value = chosen && { kind: 'run', run: chosen }
        }}
      >
        <option value="">Newest run</option>
        {runs.slice(first, first + mostRuns).map(({ seq, startedAt, lastAt, agent, outcome }, index) => (
          <option key={seq} value={seq}>
            {[
              `Run ${first + index + 1}`,
              clockTime(startedAt),
              agent,
              outcome ? `${outcome}, ${duration(lastAt - startedAt)}` : 'running',
            ].join(' · ')}
          </option>
        ))}
      </select>
      <RunChart key={run.seq} session={session} run={run} />
    </div>
  )
}

function RunChart({ session, run }: { readonly session: Session; readonly run: RunView }) {
  const replayed = useSignal<Replay | undefined>(undefined)
  const { entries, absences } = session
  const live = isLive(run)
  // Five times a second, and less often the more there is to lay out.
  const stepMs = 200 * Math.ceil((run.lastSeq - run.seq + 1) / 10_000)
  const version = live ? Math.floor(now.value / stepMs) : run.version
  const chart = useMemo(
    () => layout(entries, run, { now: now.peek(), absences }),
    [entries, run, version, absences],
  )

  async function toggleReplay() {
    if (replayed.value) {
      replayed.value = undefined
      return
    }
    try {
      // A run that goes on is replayed as far as it has come.
      replayed.value = replay(await recorded(session, run), chart)
    } catch {
      say('The run could not be read.')
    }
  }

  return (
    <>
      <p>{factsOf(run, chart)}</p>
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
      <ul class="timeline-legend" aria-label="Colours">
        {legend.map(([kind, words]) => (
          <li key={kind}>
            <span data-phase={kind} data-bad={kind === 'bad'} />
            {words}
          </li>
        ))}
      </ul>
      {replayed.value && <ReplayView replay={replayed.value} />}
      <TimesTable chart={chart} />
    </>
  )
}

function factsOf({ rounds, calls, outcome }: RunView, { start, end, live, lanes }: Chart): string {
  const first = lanes[0]?.marks.find(({ kind }) => kind === 'first')
  return [
    outcome === 'suspended' ? 'waits for a person' : (outcome ?? 'running'),
    `${duration(end - start)}${live ? ' so far' : ''}`,
    ...(first ? [first.what.toLowerCase()] : []),
    plural(rounds.length, 'round'),
    plural(calls.length, 'call'),
  ].join(' · ')
}
