import type { InputView } from 'millrace/view'
import { textOf } from 'millrace/view'
import { oneLine } from '../json/visible.ts'
import { eventLink } from './links.tsx'
import { List } from './list.tsx'

/** What people said, by its beginning. */
export function Heard({ title, said }: { readonly title: string; readonly said: readonly InputView[] }) {
  return (
    <List title={title} items={said}>
      {({ seq, mode, message }) => [
        eventLink(seq),
        `${mode}: ${oneLine(textOf(message)) || 'an attachment'}`,
      ]}
    </List>
  )
}
