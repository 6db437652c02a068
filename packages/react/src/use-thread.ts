import { useEffect, useState, useSyncExternalStore } from 'react'
import type { ThreadHandle } from './thread-handle.ts'
import type { UseThreadOptions } from './thread-options.ts'
import { threadStore } from './thread-store.ts'

/**
 * A thread of a Millrace server, as it is now. It connects while the component is mounted. Throws
 * `invalid_input` if an option is invalid.
 */
export function useThread(options: UseThreadOptions): ThreadHandle {
  const [store, setStore] = useState(() => threadStore(options))
  let current = store
  if (!store.fits(options)) {
    current = threadStore(options)
    setStore(current)
  }
  // Before the subscription, which is an effect too: the store connects with the latest options.
  useEffect(() => current.update(options))
  return useSyncExternalStore(current.subscribe, current.getSnapshot, current.getSnapshot)
}
