import type { ComponentChildren } from 'preact'
import type { IconName } from '../icons.tsx'
import { Icon } from '../icons.tsx'

export interface SmallButtonProps {
  readonly icon?: IconName
  /** For a button that opens and closes something. */
  readonly expanded?: boolean
  onClick(): unknown
  readonly children: ComponentChildren
}

/** An unobtrusive button, for below a message or in a card. */
export function SmallButton({ icon, expanded, onClick, children }: SmallButtonProps) {
  return (
    <button type="button" class="plain chat-small chat-quiet" aria-expanded={expanded} onClick={onClick}>
      {icon && <Icon name={icon} />} {children}
    </button>
  )
}
