import { openThread } from '../api.ts'

let isRequested = false

/** Opens a thread that the user created or forked, with the focus in the message box. */
export function openAndFocus(thread: string): void {
  isRequested = true
  openThread(thread)
}

/** Never when the page is loaded, nor where focus would open an on-screen keyboard. */
export function shouldFocusComposer({ isNew }: { readonly isNew: boolean }): boolean {
  const wasRequested = isRequested
  isRequested = false
  return (wasRequested || (isNew && location.hash === '#/')) && matchMedia('(pointer: fine)').matches
}
