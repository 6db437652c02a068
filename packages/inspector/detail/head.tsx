import type { ErrorJson } from 'millrace/view'
import type { ComponentChildren } from 'preact'
import { number } from '../format.ts'
import { visible } from '../json/visible.ts'
import { eventLink } from './links.tsx'

/** One without a value is not there. */
export type Fact = readonly [label: string, value: ComponentChildren]

export interface HeadProps {
  /** What it is a part of. */
  readonly path?: ComponentChildren
  readonly title: ComponentChildren
  readonly facts: readonly Fact[]
  /** The event that it began with. */
  readonly seq: number
  readonly children?: ComponentChildren
}

/** What it is, what went wrong with it, and what is known of it, one below the other. */
export function Head({ path, title, facts, seq, children }: HeadProps) {
  const known: Fact[] = [...facts, ['Log', eventLink(seq)]]
  return (
    <>
      {path && <nav aria-label="Part of">{path}</nav>}
      <h2>{title}</h2>
      {children}
      <dl class="detail-facts">
        {known.map(
          ([label, value]) =>
            value !== undefined &&
            value !== false && (
              <div key={label}>
                <dt class="quiet">{label}</dt>
                <dd>{typeof value === 'number' ? number(value) : value}</dd>
              </div>
            ),
        )}
      </dl>
    </>
  )
}

/** Something that went wrong, in words and not by its colour alone. */
export function Fault({ text }: { readonly text: string | undefined }) {
  return text === undefined ? null : (
    <p class="detail-fault">
      <b>Problem</b> {visible(text)}
    </p>
  )
}

export function failureWords(
  error: Pick<ErrorJson, 'code' | 'message' | 'cause'> | undefined,
): string | undefined {
  return error && `${error.code}: ${error.message}${error.cause ? ` (${error.cause})` : ''}`
}
