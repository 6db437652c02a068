import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CopyButton } from '../copy-button.tsx'
import { size } from '../format.ts'
import { visible } from '../json/visible.ts'
import { asText, beginningOf } from './json-text.ts'
import { jsonTokens } from './json-tokens.ts'
import { SmallButton } from './small-button.tsx'

export interface LongTextProps {
  /** Text, or a value to show as JSON. */
  readonly value: unknown
  /** The accessible name: "Output". */
  readonly label: string
  /** Whether the name is visible, too. */
  readonly isNamed?: boolean
  /** Nothing is folded away, unless it is extremely long. */
  readonly isWhole?: boolean
}

const folded = { lines: 10, chars: 1200 }
const maxWhole = 200_000
/** Longer JSON has no colors: each part is an element. */
const maxColored = 20_000

/** Literal text in a box. Long text is collapsed, and the button says how long it is. */
export function LongText({ value, label, isNamed = false, isWhole = false }: LongTextProps) {
  const [isOpened, setOpened] = useState(false)
  const text = useMemo(() => asText(value), [value])
  const short = beginningOf(text, folded)
  const isLong = short !== text
  const isFixed = isWhole && text.length <= maxWhole
  const isOpen = isLong && (isFixed || isOpened)
  const shown = visible(isLong && !isOpen ? `${short}…` : text)
  return (
    <>
      {isNamed && <span class="chat-box-name chat-quiet">{label}</span>}
      <figure class="chat-box" aria-label={label}>
        {/* Scrollable only if it is open, and then also with the keyboard. */}
        <pre class={isOpen ? 'chat-box-open' : ''} tabIndex={isOpen ? 0 : undefined}>
          {typeof value === 'string' || shown.length > maxColored ? shown : colored(shown)}
        </pre>
        <CopyButton text={() => text} label={`Copy: ${label}`} />
      </figure>
      {isLong && !isFixed && (
        <SmallButton expanded={isOpened} onClick={() => setOpened(!isOpened)}>
          {isOpened ? 'Show less' : `Show all (${size(text.length)})`}
        </SmallButton>
      )}
    </>
  )
}

function colored(json: string): ComponentChildren {
  return jsonTokens(json).map(([kind, text], index) =>
    kind ? (
      <span key={index} class={`chat-json-${kind}`}>
        {text}
      </span>
    ) : (
      text
    ),
  )
}
