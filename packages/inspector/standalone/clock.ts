import type { ReadonlySignal } from '@preact/signals'
import { signal } from '@preact/signals'
import { createContext } from 'preact'

// In place of ../clock.ts: the time of an exported thread stands still at its last entry, also if a
// run was in progress.

export const now = signal(0)
export const lostAt = signal<number | undefined>(undefined)
export const ShownTime = createContext<ReadonlySignal<number>>(now)
