import type { ThreadInfo, ThreadStatus } from 'millrace/client'
import { statusOf } from 'millrace/view'
import { addressOf } from '../api.ts'
import { copy } from '../copy-button.tsx'
import { ago, clockTime } from '../format.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { threadsOpen } from '../state.ts'
import { saveAsJson, saveAsTest } from './save.ts'
import { statuses } from './status.ts'
import { ThreadMenu } from './thread-menu.tsx'

export interface ThreadRowProps {
  readonly thread: ThreadInfo
  /** Present if the thread is open. */
  readonly session: Session | undefined
  onDelete(thread: ThreadInfo): void
}

export function ThreadRow({ thread, session, onDelete }: ThreadRowProps) {
  const { id, agent, status, updatedAt } = thread
  const title = visible(thread.title ?? id)
  const items = [
    {
      label: 'Open',
      icon: 'chevron',
      run() {
        location.hash = addressOf(id)
      },
    },
    { label: 'Export as JSON', icon: 'download', run: () => void saveAsJson(thread) },
    { label: 'Export as test script', icon: 'code', run: () => void saveAsTest(thread) },
    { label: 'Copy ID', icon: 'copy', run: () => void copy(id) },
    { label: 'Delete…', icon: 'trash', isDangerous: true, run: () => onDelete(thread) },
  ] as const
  return (
    <li class="threads-row" data-open={session !== undefined}>
      <a
        href={addressOf(id)}
        aria-current={session ? 'page' : undefined}
        title={title}
        onClick={() => (threadsOpen.value = false)}
      >
        <span class="threads-title">{title}</span>
        <span class="threads-facts">
          {session ? <LiveStatus session={session} /> : <Status status={status} />}
          <span class="threads-agent">{agent}</span>
          <time dateTime={new Date(updatedAt).toISOString()} title={clockTime(updatedAt)}>
            {ago(updatedAt, Date.now())}
          </time>
        </span>
      </a>
      <ThreadMenu label={`Actions for ${title}`} items={items} />
    </li>
  )
}

/** The status of the open thread comes from its log, which is newer than the list. */
function LiveStatus({ session }: { readonly session: Session }) {
  void session.tick.value
  return <Status status={statusOf(session.log)} />
}

function Status({ status }: { readonly status: ThreadStatus }) {
  const { label, icon } = statuses[status]
  return (
    <span class="threads-status" data-status={status}>
      <Icon name={icon} /> {label}
    </span>
  )
}
