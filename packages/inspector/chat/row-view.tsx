import type { Row } from 'millrace/view'
import type { ComponentType } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Session } from '../session.ts'
import './rows.css'
import { CallCard } from './call-card.tsx'
import { repeatsOf } from './call-state.ts'
import { EndRowView } from './end-row.tsx'
import { InputRowView } from './input-row.tsx'
import { NoticeRowView } from './notice-row.tsx'
import { ReasoningRowView } from './reasoning-row.tsx'
import { TextRowView } from './text-row.tsx'

export interface RowViewProps<Kind extends Row = Row> {
  readonly row: Kind
  /** Absent where the row is read-only: inside a sub-agent, in a replay. */
  readonly session: Session | undefined
  /** Whether it is an input that no run has read yet. */
  readonly isPending: boolean
}

export interface RowProps<Kind extends Row> extends RowViewProps<Kind> {
  readonly version: number
}

type Kind = readonly [View: ComponentType<RowProps<never>>, name: string]

const kinds: Record<Row['kind'], Kind> = {
  input: [InputRowView, 'Your message'],
  text: [TextRowView, 'Answer'],
  reasoning: [ReasoningRowView, 'Reasoning'],
  call: [CallCard, 'Tool'],
  notice: [NoticeRowView, 'Notice'],
  end: [EndRowView, 'End of run'],
}

/** One row of the chat. Rendered again only if its version changed. */
export function RowView({ row, session, isPending }: RowViewProps) {
  const { kind } = row
  // The line of a denied call counts its repeats.
  const version = row.version + (kind === 'call' && row.state === 'denied' ? repeatsOf(row).length : 0)
  return useMemo(() => {
    const [View, name] = kinds[kind]
    const label = kind === 'call' ? (row.budget ? 'Budget' : `${name} ${row.name}`) : name
    return (
      <article class="chat-row" data-kind={kind} data-key={row.key} aria-label={label} tabIndex={-1}>
        <View row={row as never} version={version} session={session} isPending={isPending} />
      </article>
    )
  }, [row, version, session, isPending])
}
