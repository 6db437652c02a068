import type { ReadonlySignal } from '@preact/signals'
import { computed, signal } from '@preact/signals'
import { createContext } from 'preact'
import { session } from './state.ts'

let timer: ReturnType<typeof setInterval> | undefined

const ticking = signal(Date.now(), {
  watched() {
    ticking.value = Date.now()
    timer = setInterval(() => {
      ticking.value = Date.now()
    }, 200)
  },
  unwatched() {
    clearInterval(timer)
  },
})

/** When the connection of the open thread was lost; undefined while there is one. */
export const lostAt = computed(() => {
  const { value: open } = session
  return open?.connection.value === 'reconnecting' ? open.outages.at(-1)?.from : undefined
})

/**
 * The current time, updated five times a second while a component reads it. It stands still while
 * the server cannot be reached: what has happened since is not known.
 */
export const now = computed(() => lostAt.value ?? ticking.value)

/** The time to render: now, or the position of a replay. */
export const ShownTime = createContext<ReadonlySignal<number>>(now)
