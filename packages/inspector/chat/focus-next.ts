import { openThread } from '../api.ts'

let isWanted = false

/** Whoever is brought to another thread by what they did wants to go on writing there. */
export function goTo(thread: string): void {
  isWanted = true
  openThread(thread)
}

/** Whether the composer that is drawn now takes the focus: never by itself when the page is opened, nor where it would bring up a keyboard. */
export function takesFocus({ isNew }: { readonly isNew: boolean }): boolean {
  const wasWanted = isWanted
  isWanted = false
  return (wasWanted || (isNew && location.hash === '#/')) && matchMedia('(pointer: fine)').matches
}
