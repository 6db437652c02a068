import type { Versions } from 'millrace/view'
import { IconButton } from '../icon-button.tsx'
import type { Session } from '../session.ts'
import { restore } from './actions.ts'

export interface VersionSwitchProps {
  readonly versions: Versions
  readonly session: Session
  /** Whether a message follows: they are edits of it. Otherwise they are answers. */
  readonly isEdit: boolean
}

/** Switches between the versions of what follows: answers to the same message, or edits of it. */
export function VersionSwitch({ versions: { list, current }, session, isEdit }: VersionSwitchProps) {
  const show = (index: number) => {
    const replacedBy = list[index]?.replacedBy
    if (replacedBy !== undefined) void restore(session, replacedBy)
  }
  return (
    <div class="chat-row chat-versions chat-quiet" data-edit={isEdit}>
      <IconButton
        icon="previous"
        label="Previous version"
        disabled={current === 0}
        onClick={() => show(current - 1)}
      />
      <span>
        <span class="visually-hidden">Version </span>
        {current + 1} / {list.length}
      </span>
      <IconButton
        icon="chevron"
        label="Next version"
        disabled={current === list.length - 1}
        onClick={() => show(current + 1)}
      />
    </div>
  )
}
