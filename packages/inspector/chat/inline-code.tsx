import { visible } from '../json/visible.ts'
import { splitCode } from './code-spans.ts'

export interface InlineCodeProps {
  readonly text: string
  /** Longer code loses its middle: where all of it is shown below. */
  readonly maxCode?: number
}

/** Text with its backtick spans rendered as code. */
export function InlineCode({ text, maxCode = Infinity }: InlineCodeProps) {
  return (
    <>
      {splitCode(visible(text)).map((part, index) =>
        index % 2 === 0 ? part : <code key={index}>{cut(part, maxCode)}</code>,
      )}
    </>
  )
}

/** Keeps both ends: a command may end with what matters. */
function cut(code: string, most: number): string {
  if (code.length <= most) return code
  return `${code.slice(0, most / 2)} … ${code.slice(-most / 2)}`
}
