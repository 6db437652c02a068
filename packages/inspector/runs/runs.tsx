import { useSignal } from '@preact/signals'
import type { MillraceError, ThreadInfo } from 'millrace/client'
import { addressOf, api } from '../api.ts'
import { Dialog } from '../dialog.tsx'
import { ago, clockTime, plural } from '../format.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { useAction } from '../keyboard.ts'
import { showNotice } from '../state.ts'
import { deleted } from '../threads/delete.ts'
import { statuses } from '../threads/status.ts'
import './runs.css'
import { useRuns } from './use-runs.ts'

/** All runs that have not ended, of all servers that share the store. */
export function Runs() {
  const { threads, isUnreachable, refresh } = useRuns()
  const isAsking = useSignal(false)
  const shown = threads.value?.filter(({ id }) => !deleted.value.has(id))
  const canStopAll = shown !== undefined && shown.length > 1

  useAction({
    id: 'stop-all',
    label: 'Stop all active runs…',
    isAvailable: () => canStopAll,
    run: () => (isAsking.value = true),
  })

  async function stop(chosen: readonly ThreadInfo[]) {
    const ended = await Promise.allSettled(chosen.map(({ id }) => api.thread(id).stop()))
    const failed = ended.find((one) => one.status === 'rejected')
    if (failed) showNotice(`Can't stop the run: ${(failed.reason as MillraceError).message}`)
    refresh()
  }

  return (
    <section class="runs" aria-labelledby="runs-title">
      <header class="runs-head">
        <h2 id="runs-title">Active runs</h2>
        {canStopAll && (
          <button type="button" class="danger" onClick={() => (isAsking.value = true)}>
            Stop all
          </button>
        )}
      </header>
      {isUnreachable.value && (
        <p class="quiet" role="status">
          Can't load the runs. Retrying…
        </p>
      )}
      {!shown && !isUnreachable.value && <p class="lazy-wait quiet">Loading…</p>}
      {shown?.length === 0 && <p class="quiet">No active runs.</p>}
      <ul class="runs-list" aria-label="Active runs">
        {shown?.map((thread) => (
          <RunRow key={thread.id} thread={thread} onStop={() => void stop([thread])} />
        ))}
      </ul>
      {isAsking.value && shown && (
        <Dialog title={`Stop ${plural(shown.length, 'run')}?`} onClose={() => (isAsking.value = false)}>
          <p>What they have written so far is kept.</p>
          <form
            method="dialog"
            class="dialog-choice"
            onSubmit={({ submitter }) => {
              if ((submitter as HTMLButtonElement | null)?.value === 'stop') void stop(shown)
            }}
          >
            <button type="submit" value="cancel">
              Cancel
            </button>
            <button type="submit" value="stop" class="danger">
              Stop all
            </button>
          </form>
        </Dialog>
      )}
    </section>
  )
}

function RunRow({ thread, onStop }: { readonly thread: ThreadInfo; onStop(): void }) {
  const { id, agent, user, status, updatedAt } = thread
  const { label, icon, tone } = statuses[status]
  const title = visible(thread.title ?? id)
  return (
    <li class="runs-row">
      <span class="threads-status" data-tone={tone}>
        <Icon name={icon} /> {label}
      </span>
      <a href={addressOf(id)} dir="auto">
        {title}
      </a>
      <span class="runs-facts quiet">
        {[agent, user].filter(Boolean).join(' · ')} ·{' '}
        <time dateTime={new Date(updatedAt).toISOString()} title={clockTime(updatedAt)}>
          changed {ago(updatedAt, Date.now())}
        </time>
      </span>
      <button type="button" aria-label={`Stop ${title}`} onClick={onStop}>
        <Icon name="stop" /> Stop
      </button>
    </li>
  )
}
