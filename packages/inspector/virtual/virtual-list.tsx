import type { AriaRole, ComponentChildren, Ref } from 'preact'
import { useImperativeHandle, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks'
import type { Rows } from './placing.ts'
import { createScroller } from './scroller.ts'
import './virtual.css'

export interface ListHandle {
  /** Brings a row into sight, if it is not. `align` puts it at the top or the bottom in any case. */
  scrollTo(index: number, align?: 'start' | 'end'): void
  /** To the last row, and with it as it grows if the list sticks. */
  toEnd(): void
}

export interface VirtualListProps extends Rows {
  readonly render: (index: number) => ComponentChildren
  readonly label: string
  /** Begins at the end, and stays there while it grows as long as the reader does. */
  readonly stick?: boolean
  readonly class?: string
  readonly role?: AriaRole
  readonly rowRole?: AriaRole
  readonly handle?: Ref<ListHandle>
  readonly onAtEnd?: (atEnd: boolean) => void
}

/**
 * A list of any length, of which only what is seen is in the page. Rows lie in the flow, between spacers as high as what is left out;
 * a row may change its height at any time. The keys that scroll do so once it has the focus.
 */
export function VirtualList(props: VirtualListProps) {
  const { count, render, label, role = 'group', rowRole, handle = null } = props
  const [, redraw] = useReducer<number, void>((n) => n + 1, 0)
  const scroller = useMemo(() => createScroller(redraw), [])
  const list = useRef<HTMLDivElement>(null)
  const rows = scroller.draw({ stick: false, ...props })

  useLayoutEffect(() => (list.current ? scroller.attach(list.current) : undefined), [scroller])
  useLayoutEffect(scroller.settle)
  useImperativeHandle(handle, () => scroller, [scroller])

  const drawn: ComponentChildren[] = []
  let next = 0
  const addSpace = (to: number) =>
    drawn.push(
      <div key={`before ${to}`} class="virtual-space" style={{ height: `${scroller.space(next, to)}px` }} />,
    )
  for (const { index, key } of rows) {
    if (index > next) addSpace(index)
    // Who listens to a list hears how long it is, not how much of it is drawn.
    const position = rowRole === 'listitem' && { 'aria-posinset': index + 1, 'aria-setsize': count }
    drawn.push(
      <div key={`row ${key}`} class="virtual-row" data-row={index} role={rowRole} {...position}>
        {render(index)}
      </div>,
    )
    next = index + 1
  }
  addSpace(count)
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: whatever role is given, it is one that has a name
    <div class={`virtual ${props.class ?? ''}`} ref={list} role={role} aria-label={label} tabIndex={0}>
      <div>{drawn}</div>
    </div>
  )
}
