import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Restores the focus if a row moved: without `moveBefore`, moved elements lose it. */
export function useKeptFocus(list: RefObject<HTMLElement | null>): void {
  const { activeElement } = document
  const focused = list.current?.contains(activeElement) ? (activeElement as HTMLElement) : undefined
  useLayoutEffect(() => {
    if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true })
  })
}
