import { useMemo, useState } from 'preact/hooks'
import { size } from '../format.ts'
import { visible } from '../json/visible.ts'
import { asText } from './json-text.ts'
import { SmallButton } from './small-button.tsx'

export interface LongTextProps {
  /** Text, or a value to show as JSON. */
  readonly value: unknown
  /** The accessible name: "Result". */
  readonly label: string
}

const maxChars = 1200
const maxLines = 10

/** Literal text in a box. Long text is collapsed, and the button says how long it is. */
export function LongText({ value, label }: LongTextProps) {
  const [open, setOpen] = useState(false)
  const text = useMemo(() => asText(value), [value])
  const short = text.split('\n', maxLines).join('\n').slice(0, maxChars)
  // A button to show a few more characters is not worth it.
  const isLong = text.length - short.length > 80
  return (
    <>
      <figure class="chat-box" aria-label={label} tabIndex={open ? 0 : undefined}>
        <pre>{visible(isLong && !open ? `${short}…` : text)}</pre>
      </figure>
      {isLong && (
        <SmallButton onClick={() => setOpen(!open)}>
          {open ? 'Show less' : `Show all (${size(text.length)})`}
        </SmallButton>
      )}
    </>
  )
}
