import type { ReadonlySignal } from '@preact/signals'
import { signal } from '@preact/signals'
import { createContext } from 'preact'

let timer: ReturnType<typeof setInterval> | undefined

/** The current time, updated five times a second while a component reads it. */
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

/** The time to render: now, or the position of a replay. */
export const ShownTime = createContext<ReadonlySignal<number>>(now)
