import type { ComponentChildren } from 'preact'
import type { IconName } from '../icons.tsx'
import { Icon } from '../icons.tsx'

export interface SmallButtonProps {
  readonly icon?: IconName
  /** The tooltip, if the button needs one. */
  readonly title?: string
  onClick(): unknown
  readonly children: ComponentChildren
}

/** An unobtrusive button, for below a message or in the header of a card. */
export function SmallButton({ icon, title, onClick, children }: SmallButtonProps) {
  return (
    <button type="button" class="plain chat-small chat-quiet" title={title} onClick={onClick}>
      {icon && <Icon name={icon} />} {children}
    </button>
  )
}
