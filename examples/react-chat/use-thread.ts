import { type RemoteThread, type ThreadSnapshot, watch } from 'millrace/client'
import { useEffect, useState } from 'react'

/** The conversation as it is now. Reconnects on its own, and continues where it was. */
export function useThread(thread: RemoteThread): ThreadSnapshot | undefined {
  const [state, setState] = useState<ThreadSnapshot>()
  useEffect(() => {
    const controller = new AbortController()
    void (async () => {
      for await (const next of watch(thread, { signal: controller.signal })) setState(next)
    })()
    return () => controller.abort()
  }, [thread])
  return state
}
