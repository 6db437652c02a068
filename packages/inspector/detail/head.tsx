import type { ErrorJson } from 'millrace/view'
import type { ComponentChildren } from 'preact'
import { number } from '../format.ts'
import { visible } from '../json/visible.ts'
import { eventLink } from './links.tsx'

/** Not shown if the value is undefined or false. */
export type Fact = readonly [label: string, value: ComponentChildren]

export interface HeadProps {
  /** Links to what contains it. */
  readonly path?: ComponentChildren
  readonly title: ComponentChildren
  readonly facts: readonly Fact[]
  /** The number of its first event. */
  readonly seq: number
  readonly children?: ComponentChildren
}

/** Title, problems and facts. */
export function Head({ path, title, facts, seq, children }: HeadProps) {
  return (
    <>
      {path && (
        <nav class="detail-path" aria-label="Part of">
          {path}
        </nav>
      )}
      <h2>{title}</h2>
      {children}
      <Facts facts={[...facts, ['Log', eventLink(seq)]]} />
    </>
  )
}

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="detail-facts">
      {facts.map(
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
  )
}

/** A problem, marked with a word and not by color alone. */
export function Problem({ text }: { readonly text: string | undefined }) {
  return text === undefined ? null : (
    <p class="detail-fault">
      <b>Problem</b> {visible(text)}
    </p>
  )
}

export function errorText(
  error: Pick<ErrorJson, 'code' | 'message' | 'cause'> | undefined,
): string | undefined {
  return error && `${error.code}: ${error.message}${error.cause ? ` (${error.cause})` : ''}`
}
