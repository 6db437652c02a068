import type { ContextUse } from 'millrace/view'
import { contextText } from './cost.ts'
import './context.css'
import { number } from './format.ts'

const kinds = [
  ['system', 'System'],
  ['tools', 'Tools'],
  ['history', 'History'],
  ['results', 'Results'],
] as const

/** How full the model's context is, what fills it, and a mark where it will be compacted. */
export function ContextBar({ use }: { readonly use: ContextUse }) {
  const { tokens, limit = 0, compactAt } = use
  const whole = Math.max(1, tokens, limit, compactAt ?? 0)
  const share = (count: number) => `${(100 * count) / whole}%`
  const parts = kinds.map(([kind, label]) => `${label} ${number(use[kind])}`).join(', ')
  return (
    <span class="context-bar" role="img" aria-label={`${contextText(use)}. ${parts}. ${noteOf(use)}`}>
      {kinds.map(([kind]) => (
        <span key={kind} data-part={kind} style={{ width: share(use[kind]) }} />
      ))}
      {compactAt !== undefined && <i style={{ left: share(compactAt) }} />}
    </span>
  )
}

/** The same in numbers. */
export function ContextLegend({ use }: { readonly use: ContextUse }) {
  const note = noteOf(use)
  return (
    <>
      <ul class="context-legend">
        {kinds.map(([kind, label]) => (
          <li key={kind}>
            <span data-part={kind} /> {label} {number(use[kind])}
          </li>
        ))}
      </ul>
      {note && <p class="quiet">{note}</p>}
    </>
  )
}

function noteOf({ limit, compactAt }: ContextUse): string {
  if (compactAt !== undefined) return `Compacted above ${number(compactAt)} tokens.`
  return limit ? '' : 'How many tokens the model can read is not known.'
}
