import type { ComponentChildren } from 'preact'
import type { IconName } from '../icons.tsx'
import { Icon } from '../icons.tsx'

export interface SmallButtonProps {
  readonly icon?: IconName
  /** More than its words say. */
  readonly title?: string
  onClick(): unknown
  readonly children: ComponentChildren
}

/** Quiet, since there are many: below a message, or in the head of a card. */
export function SmallButton({ icon, title, onClick, children }: SmallButtonProps) {
  return (
    <button type="button" class="plain chat-small chat-quiet" title={title} onClick={onClick}>
      {icon && <Icon name={icon} />} {children}
    </button>
  )
}
