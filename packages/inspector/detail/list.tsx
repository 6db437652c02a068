import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { number } from '../format.ts'

export interface SectionProps {
  readonly title: string
  readonly children: ComponentChildren
}

export function Section({ title, children }: SectionProps) {
  return (
    <section class="detail-section" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

interface ItemsProps<Item> {
  readonly items: readonly Item[]
  readonly children: (item: Item) => ComponentChildren
}

const step = 50

/** A list that shows a part of its items, and more on demand. */
export function Items<Item>({ items, children }: ItemsProps<Item>) {
  const [most, setMost] = useState(step)
  return (
    <>
      <ul class="detail-list">
        {items.slice(0, most).map((item, place) => (
          <li key={place}>{children(item)}</li>
        ))}
      </ul>
      {items.length > most && (
        <button type="button" onClick={() => setMost(most + step)}>
          {number(items.length - most)} more
        </button>
      )}
    </>
  )
}

/** A section that is omitted if it has no items. */
export function List<Item>({ title, ...list }: ItemsProps<Item> & Pick<SectionProps, 'title'>) {
  if (list.items.length === 0) return null
  return (
    <Section title={title}>
      <Items {...list} />
    </Section>
  )
}
