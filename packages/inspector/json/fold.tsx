import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export interface FoldProps {
  /** What is seen of it in any case. */
  readonly line: ComponentChildren
  /** At first, and again when it changes. */
  readonly open?: boolean
  readonly onToggle?: (isOpen: boolean) => void
  readonly children: () => ComponentChildren
}

/** One line that can be opened. What is closed is not there. */
export function Fold({ line, open = false, onToggle, children }: FoldProps) {
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
