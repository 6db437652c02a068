import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** In a browser without `moveBefore` a row that moves is taken out and put in again, and would lose the focus by that. */
export function useKeptFocus(list: RefObject<HTMLElement | null>): void {
  const { activeElement } = document
  const focused = list.current?.contains(activeElement) ? (activeElement as HTMLElement) : undefined
  useLayoutEffect(() => {
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true })
  })
}
