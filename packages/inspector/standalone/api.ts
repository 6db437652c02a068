import { signal } from '@preact/signals'

// In place of ../api.ts: an exported thread has no server. What would call one is not shown.

/** True, so that nothing is loaded. */
export const signedOut = signal(true)
export const api = {}
export function openThread(): void {}
export function newThread(): void {}
