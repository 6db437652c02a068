import type { InputView } from 'millrace/view'
import { textOf } from 'millrace/view'
import { oneLine } from '../json/visible.ts'
import { eventLink } from './links.tsx'
import { List } from './list.tsx'

/** Messages of the user, shortened. */
export function Inputs({ title, inputs }: { readonly title: string; readonly inputs: readonly InputView[] }) {
  return (
    <List title={title} items={inputs}>
      {({ seq, mode, message }) => [
        eventLink(seq),
        `${mode}: ${oneLine(textOf(message)) || 'an attachment'}`,
      ]}
    </List>
  )
}
