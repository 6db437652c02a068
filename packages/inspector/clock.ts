import type { ReadonlySignal } from '@preact/signals'
import { signal } from '@preact/signals'
import { createContext } from 'preact'

let timer: ReturnType<typeof setInterval> | undefined

/** The time, five times a second, for what is still running. It goes on only while somebody looks at it. */
export const now = signal(Date.now(), {
  watched() {
    now.value = Date.now()
    timer = setInterval(() => {
      now.value = Date.now()
    }, 200)
  },
  unwatched() {
    clearInterval(timer)
  },
})

/** The time that is shown: now, or that of a replay. */
export const ShownTime = createContext<ReadonlySignal<number>>(now)
