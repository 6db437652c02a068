import type { InputView } from 'millrace/view'
import { size } from '../format.ts'
import { visible } from '../json/visible.ts'
import { beginningOf } from './json-text.ts'
import { SmallButton } from './small-button.tsx'
import { useFold } from './use-fold.ts'

export interface UserTextProps {
  readonly row: InputView
  readonly text: string
}

const folded = { lines: 20, chars: 2000 }

/** What the user wrote. Long text, such as a pasted log, is collapsed. */
export function UserText({ row, text }: UserTextProps) {
  const [isOpen, toggle] = useFold('message', row)
  const short = beginningOf(text, folded)
  const isLong = short !== text
  return (
    <>
      <p>{visible(isLong && !isOpen ? `${short}…` : text)}</p>
      {isLong && (
        <SmallButton expanded={isOpen} onClick={toggle}>
          {isOpen ? 'Show less' : `Show all (${size(text.length)})`}
        </SmallButton>
      )}
    </>
  )
}
