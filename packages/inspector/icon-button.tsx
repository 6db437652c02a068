import type { IconName } from './icons.tsx'
import { Icon } from './icons.tsx'

export interface IconButtonProps {
  readonly icon: IconName
  /** The accessible name and the tooltip. */
  readonly label: string
  readonly onClick: () => void
  readonly class?: string
  readonly disabled?: boolean
  /** For a button that opens and closes something. */
  readonly expanded?: boolean
  /** For a toggle button. */
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
