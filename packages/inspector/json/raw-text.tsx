import { useMemo } from 'preact/hooks'
import { VirtualList } from '../virtual/virtual-list.tsx'
import './json.css'
import { linesOf } from './lines.ts'
import { visible } from './visible.ts'

/** Literal text of any length. Only visible lines are rendered. */
export function RawText({ text, label }: { readonly text: string; readonly label: string }) {
  const lines = useMemo(() => linesOf(text), [text])
  return (
    <VirtualList
      class="json-raw"
      label={label}
      count={lines.length}
      keyOf={(index) => index}
      estimate={() => 24}
      render={(index) => visible(lines[index] ?? '') || '\u00a0'}
    />
  )
}
