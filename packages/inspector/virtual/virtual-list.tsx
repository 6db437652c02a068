import type { AriaRole, ComponentChildren, Ref } from 'preact'
import { useImperativeHandle, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks'
import type { Rows } from './placement.ts'
import { createScroller } from './scroller.ts'
import './virtual.css'

export interface ListHandle {
  /** Scrolls a row into view if needed. `align` always moves it to the top or bottom. */
  scrollTo(index: number, align?: 'start' | 'end'): void
  /** Scrolls to the end, and follows it if the list sticks. */
  toEnd(): void
}

export interface VirtualListProps extends Rows {
  readonly render: (index: number) => ComponentChildren
  readonly label: string
  /** Starts at the end, and stays there while the list grows, unless the user scrolls away. */
  readonly stick?: boolean
  readonly class?: string
  readonly role?: AriaRole
  readonly rowRole?: AriaRole
  readonly handle?: Ref<ListHandle>
  readonly onAtEnd?: (atEnd: boolean) => void
}

/**
 * A list of any length that renders only visible rows, between spacers for the rest. The height of
 * a row may change at any time. The list is focusable, so that keys scroll it.
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
    // Screen readers announce the full length of the list.
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
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: all roles passed here support a name
    <div class={`virtual ${props.class ?? ''}`} ref={list} role={role} aria-label={label} tabIndex={0}>
      <div>{drawn}</div>
    </div>
  )
}
