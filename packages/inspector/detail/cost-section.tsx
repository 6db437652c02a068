import type { ContextUse, RunView } from 'millrace/view'
import { ContextBar, ContextLegend } from '../context-bar.tsx'
import { contextText, costParts } from '../cost.ts'
import { List, Section } from './list.tsx'

/** What the cost consists of. */
export function CostSection({ title, runs }: { readonly title: string; readonly runs: readonly RunView[] }) {
  return (
    <List title={title} items={costParts(runs)}>
      {(part) => part}
    </List>
  )
}

export function ContextSection({ use }: { readonly use: ContextUse | undefined }) {
  return (
    use && (
      <Section title={`Context: ${contextText(use)}`}>
        <ContextBar use={use} />
        <ContextLegend use={use} />
      </Section>
    )
  )
}
