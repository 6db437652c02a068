import type { CallDisplay } from 'millrace'
import { escapeInvisible } from 'millrace/internal'

const maxTitleChars = 500
// The log keeps the diff in addition to the input of the call.
const maxDiffChars = 65_536

/** Limits what a call shows, and makes characters visible that could disguise it. */
export function callDisplay({ title = '', diff, ...display }: CallDisplay): CallDisplay {
  const chars = diff?.reduce((sum, { oldText = '', newText }) => sum + oldText.length + newText.length, 0)
  return {
    ...display,
    title: escapeInvisible(title.slice(0, maxTitleChars)) + (title.length > maxTitleChars ? '…' : ''),
    ...(diff && Number(chars) <= maxDiffChars && { diff }),
  }
}
