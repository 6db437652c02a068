import type { CallView, Row } from 'millrace/view'
import { useReducer } from 'preact/hooks'

/** Kept here, since a row that is scrolled out of view is unmounted. */
const open = { call: new WeakSet<Row>(), group: new WeakSet<Row>(), message: new WeakSet<Row>() }
const grouped = new WeakSet<CallView>()

/** Whether a message, a call or the group that starts with it is open, and how to open or close it. */
export function useFold(kind: keyof typeof open, of: Row): [isOpen: boolean, toggle: () => void] {
  const [, redraw] = useReducer<number, void>((n) => n + 1, 0)
  const opened = open[kind]
  return [
    opened.has(of),
    () => {
      if (!opened.delete(of)) opened.add(of)
      redraw()
    },
  ]
}

/** Opens a group that an open call joins: what a user reads does not disappear. */
export function joinGroup(calls: readonly [CallView, ...CallView[]]): void {
  for (const call of calls) {
    if (open.call.has(call) && !grouped.has(call)) open.group.add(calls[0])
    grouped.add(call)
  }
}
