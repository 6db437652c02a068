import { useEffect, useState, useSyncExternalStore } from 'react'
import type { ThreadHandle } from './thread-handle.ts'
import type { UseVoiceOptions, VoiceHandle } from './voice-store.ts'
import { voiceStore } from './voice-store.ts'

/** Speech for a thread of `useThread()`. The line is closed when the component is unmounted. */
export function useVoice(thread: Pick<ThreadHandle, 'open'>, options: UseVoiceOptions = {}): VoiceHandle {
  const [store] = useState(voiceStore)
  const { open } = thread
  useEffect(() => store.update(open, options))
  // `open` is another function for another thread.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => () => void store.getSnapshot().stop(), [store, open])
  return useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot)
}
