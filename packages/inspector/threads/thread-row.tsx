import type { ThreadInfo } from 'millrace/client'
import { statusOf } from 'millrace/view'
import type { TargetedKeyboardEvent } from 'preact'
import { useRef } from 'preact/hooks'
import { addressOf, openThread } from '../api.ts'
import { copy } from '../copy-button.tsx'
import { ago, clockTime } from '../format.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { Marked } from '../marked.tsx'
import type { Session } from '../session.ts'
import { foundMessage, threadsOpen } from '../state.ts'
import { deleteThread } from './delete.ts'
import { changedAt } from './groups.ts'
import { query, titleIn } from './list.ts'
import { RenameInput, renaming } from './rename.tsx'
import { saveAsHtml, saveAsJson, saveAsTest } from './save.ts'
import { statusLabel } from './status.ts'
import { ThreadMenu } from './thread-menu.tsx'

export interface ThreadRowProps {
  readonly thread: ThreadInfo
  /** Present if the thread is open. */
  readonly session: Session | undefined
  /** Called with the id of a thread that was deleted. */
  onDelete(id: string): void
}

export function ThreadRow({ thread, session, onDelete }: ThreadRowProps) {
  const { id, agent, match } = thread
  const changed = changedAt(thread)
  const link = useRef<HTMLAnchorElement>(null)
  // The log of the open thread is newer than the list.
  const isLive = session !== undefined && session.tick.value >= 0
  const title = visible((isLive ? session.log.title : undefined) ?? thread.title ?? id)
  const rename = () => (renaming.value = { id, place: 'list' })
  const remove = () => {
    deleteThread(id)
    onDelete(id)
  }
  const items = [
    { label: 'Open', icon: 'chevron', run: () => openThread(id) },
    { label: 'Rename', icon: 'edit', run: rename },
    { label: 'Export as JSON', icon: 'download', run: () => void saveAsJson(thread) },
    { label: 'Export as HTML', icon: 'download', run: () => void saveAsHtml(thread) },
    { label: 'Export as test script', icon: 'code', run: () => void saveAsTest(thread) },
    { label: 'Copy ID', icon: 'copy', run: () => void copy(id) },
    { label: 'Delete', icon: 'trash', isDangerous: true, run: remove },
  ] as const
  function onKeyDown(event: TargetedKeyboardEvent<HTMLAnchorElement>) {
    if (event.key === 'F2') rename()
    else if (event.key === 'Delete') remove()
    else return
    // Otherwise the open thread would be renamed.
    event.preventDefault()
  }
  if (renaming.value?.place === 'list' && renaming.value.id === id)
    return (
      <div class="threads-row">
        <RenameInput
          id={id}
          title={title}
          onEnd={(byKeyboard) => byKeyboard && requestAnimationFrame(() => link.current?.focus())}
        />
      </div>
    )
  return (
    <div class="threads-row" data-open={session !== undefined}>
      <a
        ref={link}
        href={addressOf(id)}
        aria-current={session ? 'page' : undefined}
        title={title}
        onKeyDown={onKeyDown}
        onClick={() => {
          threadsOpen.value = false
          foundMessage.value = match && { thread: id, seq: match.seq }
        }}
      >
        <span class="threads-title" dir="auto">
          <Marked text={title} search={query.value.search} />
        </span>
        {match && (
          <span class="threads-match" dir="auto">
            <Marked text={visible(match.text)} search={query.value.search} />
          </span>
        )}
        <span class="threads-facts">
          <Status thread={thread} session={session} />
          <Origin thread={thread} />
          <span class="threads-agent">{agent}</span>
          <time dateTime={new Date(changed).toISOString()} title={clockTime(changed)}>
            {ago(changed, Date.now())}
          </time>
        </span>
      </a>
      <ThreadMenu label={`Actions for ${title}`} items={items} />
    </div>
  )
}

/** The status of the open thread comes from its log. */
function Status({ thread, session }: Pick<ThreadRowProps, 'thread' | 'session'>) {
  const last = session && session.tick.value >= 0 ? session.log.runs.at(-1) : undefined
  const label = statusLabel(
    last && session ? { status: statusOf(session.log), ...pick(last.outcome) } : thread,
  )
  if (!label) return null
  return (
    <span class="threads-status" data-tone={label.tone} title={thread.error}>
      <Icon name={label.icon} /> {label.label}
    </span>
  )
}

function pick(outcome: ThreadInfo['outcome']): Pick<ThreadInfo, 'outcome'> {
  return outcome ? { outcome } : {}
}

function Origin({ thread: { forkedFrom, createdAt } }: Pick<ThreadRowProps, 'thread'>) {
  if (!forkedFrom) return null
  const { id, seq } = forkedFrom
  const origin = `Fork of ${visible(titleIn(id) ?? id)} at entry ${seq}, ${clockTime(createdAt)}`
  return (
    <span class="threads-fork" title={origin}>
      <Icon name="fork" /> Fork · {ago(createdAt, Date.now())}
    </span>
  )
}
