import type { ContextUse, LogView, NoticeView, RunView } from 'millrace/view'
import { ContextBar, ContextLegend } from '../context-bar.tsx'
import { contextText, costParts } from '../cost.ts'
import { clockTime } from '../format.ts'
import { eventLink } from './links.tsx'
import { Items, List, Section } from './list.tsx'

/** What the cost consists of. */
export function CostSection({ runs }: { readonly runs: readonly RunView[] }) {
  return (
    <List title="Cost" items={costParts(runs)}>
      {(part) => part}
    </List>
  )
}

/** When earlier messages were replaced by a summary: in the whole thread, or in a run. */
export function compactionsIn({ rows }: LogView, run?: RunView): readonly NoticeView[] {
  const [from, to] = run ? [run.seq, run.lastSeq] : [0, Infinity]
  return rows.filter(
    (row): row is NoticeView =>
      row.kind === 'notice' && row.notice === 'summary' && row.seq >= from && row.seq <= to,
  )
}

export interface ContextSectionProps {
  readonly use: ContextUse | undefined
  readonly compacted?: readonly NoticeView[]
}

export function ContextSection({ use, compacted = [] }: ContextSectionProps) {
  if (!use && compacted.length === 0) return null
  return (
    <Section title={use ? `Context: ${contextText(use)}` : 'Context'}>
      {use && (
        <>
          <ContextBar use={use} />
          <ContextLegend use={use} />
        </>
      )}
      {compacted.length > 0 && (
        <Items items={compacted}>
          {({ seq, at, text }) => [eventLink(seq), `${clockTime(at)}: ${text}`]}
        </Items>
      )}
    </Section>
  )
}
