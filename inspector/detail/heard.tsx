import { oneLine } from '../json/visible.ts'
import { textOf } from '../log/fold.ts'
import type { SaidRow } from '../log/types.ts'
import { eventLink } from './links.tsx'
import { List } from './list.tsx'

/** What people said, by its beginning. */
export function Heard({ title, said }: { readonly title: string; readonly said: readonly SaidRow[] }) {
  return (
    <List title={title} items={said}>
      {({ seq, mode, message }) => [
        eventLink(seq),
        `${mode}: ${oneLine(textOf(message)) || 'an attachment'}`,
      ]}
    </List>
  )
}
