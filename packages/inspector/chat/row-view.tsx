import type { Row } from 'millrace/view'
import type { ComponentType } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Session } from '../session.ts'
import './rows.css'
import { CallCard } from './call-card.tsx'
import { EndRowView } from './end-row.tsx'
import { NoticeRowView } from './notice-row.tsx'
import { SaidRowView } from './said-row.tsx'
import { TextRowView } from './text-row.tsx'
import { ThoughtRowView } from './thought-row.tsx'

export interface RowViewProps<Kind extends Row = Row> {
  readonly row: Kind
  /** Absent where it is only looked at: inside a sub-agent, in a replay. */
  readonly session: Session | undefined
  /** It was said, and nobody has heard it yet. */
  readonly waits: boolean
}

export interface RowProps<Kind extends Row> extends RowViewProps<Kind> {
  readonly version: number
}

type Kind = readonly [View: ComponentType<RowProps<never>>, name: string]

const kinds: Record<Row['kind'], Kind> = {
  input: [SaidRowView, 'You said'],
  text: [TextRowView, 'The agent said'],
  reasoning: [ThoughtRowView, 'The agent thought'],
  call: [CallCard, 'Tool'],
  notice: [NoticeRowView, 'Notice'],
  end: [EndRowView, 'End of the run'],
}

/** One row of the chat. It is drawn again only when its version is another. */
export function RowView({ row, session, waits }: RowViewProps) {
  const { version, kind } = row
  return useMemo(() => {
    const [View, name] = kinds[kind]
    const label = kind === 'call' ? `${name} ${row.name}` : name
    return (
      <article class="chat-row" data-kind={kind} aria-label={label} tabIndex={-1}>
        <View row={row as never} version={version} session={session} waits={waits} />
      </article>
    )
  }, [row, version, session, waits])
}
