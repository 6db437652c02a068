import { onTestFailed } from 'vitest'

/** Pseudo-random numbers, the same for the same seed. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  (): number
  /** An integer within these bounds, both included. */
  whole(least: number, most: number): number
  pick<Item>(items: readonly Item[]): Item
  /** True with this probability. */
  chance(share: number): boolean
}

/** Mulberry32 over a hash of the seed (FNV-1a): short, and good enough to choose moments. */
export function random(seed: string): Random {
  let state = 0x811c9dc5
  for (let index = 0; index < seed.length; index++)
    state = Math.imul(state ^ seed.charCodeAt(index), 0x01000193)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return Object.assign(next, {
    whole,
    pick: <Item>(items: readonly Item[]) => items[whole(0, items.length - 1)] as Item,
    chance: (share: number) => next() < share,
  })
}

/** `SURVIVAL_SEED`, to repeat a test, or a new seed, which is printed if the test fails. */
export function newSeed(): string {
  const seed = process.env.SURVIVAL_SEED ?? Math.random().toString(36).slice(2, 10)
  onTestFailed(() => void process.stderr.write(`SURVIVAL_SEED=${seed}\n`))
  return seed
}
