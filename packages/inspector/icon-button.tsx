import type { IconName } from './icons.tsx'
import { Icon } from './icons.tsx'

export interface IconButtonProps {
  readonly icon: IconName
  /** What it does, for those who listen and for those who point at it. */
  readonly label: string
  readonly onClick: () => void
  readonly class?: string
  readonly disabled?: boolean
  /** Of one that opens and closes something. */
  readonly expanded?: boolean
  /** Of one that is on or off. */
  readonly pressed?: boolean
}

export function IconButton(props: IconButtonProps) {
  const { icon, label, onClick, class: more = '', disabled, expanded, pressed } = props
  return (
    <button
      type="button"
      class={`plain icon ${more}`}
      aria-label={label}
      title={label}
      aria-expanded={expanded}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  )
}
