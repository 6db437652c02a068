import type { SharedRate } from './store.ts'

/**
 * The generic cell rate algorithm. A rate is a single number, `freeAt`: when everything reserved so
 * far has been used at a steady pace. What is at most a burst ahead of that pace does not wait.
 */
export function reserveAt(
  { perMinute, burst }: SharedRate,
  amount: number,
  { freeAt, now }: { readonly freeAt: number; readonly now: number },
): { readonly freeAt: number; readonly waitMs: number } {
  const eachMs = 60_000 / perMinute
  const next = Math.max(freeAt, now) + amount * eachMs
  return { freeAt: next, waitMs: Math.max(0, next - burst * eachMs - now) }
}
