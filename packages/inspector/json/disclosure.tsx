import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export interface DisclosureProps {
  /** The summary line. */
  readonly line: ComponentChildren
  /** The initial state, applied again when it changes. */
  readonly open?: boolean
  readonly onToggle?: (isOpen: boolean) => void
  readonly children: () => ComponentChildren
}

/** An expandable line. Its content is rendered only while it is open. */
export function Disclosure({ line, open = false, onToggle, children }: DisclosureProps) {
  const [isOpen, setOpen] = useState(open)
  useEffect(() => setOpen(open), [open])
  return (
    <details
      class="json-fold"
      open={isOpen}
      onToggle={({ currentTarget }) => {
        setOpen(currentTarget.open)
        onToggle?.(currentTarget.open)
      }}
    >
      <summary>{line}</summary>
      {isOpen && children()}
    </details>
  )
}
