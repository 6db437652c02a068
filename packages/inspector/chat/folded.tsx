import { useMemo, useState } from 'preact/hooks'
import { size } from '../format.ts'
import { visible } from '../json/visible.ts'
import { asText } from './json-text.ts'
import { SmallButton } from './small-button.tsx'

export interface FoldedProps {
  /** Text, or something to be shown as JSON. */
  readonly value: unknown
  /** What it is, for those who cannot see where it stands: "Result". */
  readonly label: string
}

const mostChars = 1200
const mostLines = 10

/** Something as it was written, in a box of its own. What is long is folded, and says how long it is. */
export function Folded({ value, label }: FoldedProps) {
  const [open, setOpen] = useState(false)
  const text = useMemo(() => asText(value), [value])
  const short = text.split('\n', mostLines).join('\n').slice(0, mostChars)
  // A few more are not worth a button.
  const isLong = text.length - short.length > 80
  return (
    <>
      <figure class="chat-box" aria-label={label} tabIndex={open ? 0 : undefined}>
        <pre>{visible(isLong && !open ? `${short}…` : text)}</pre>
      </figure>
      {isLong && (
        <SmallButton onClick={() => setOpen(!open)}>
          {open ? 'Show less' : `Show all, ${size(text.length)}`}
        </SmallButton>
      )}
    </>
  )
}
