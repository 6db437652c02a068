import { visible } from '../json/visible.ts'
import { splitCode } from './code-spans.ts'

/** Text with its backtick spans rendered as code. */
export function InlineCode({ text }: { readonly text: string }) {
  return (
    <>
      {splitCode(visible(text)).map((part, index) =>
        index % 2 === 0 ? part : <code key={index}>{part}</code>,
      )}
    </>
  )
}
