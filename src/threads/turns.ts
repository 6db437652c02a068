import { systemClock } from '../protocol/index.ts'

/** So long folding may keep the event loop busy in one of its turns. */
const turnMs = 2
/** So many long folds go on at once: each holds what it has read. */
const mostLong = 4

/** Work that waits for a turn, and how many steps it has made: what has made the fewest goes first. */
const paused: { readonly steps: number; readonly resume: () => void }[] = []
/** When folding began in the current turn; undefined if it has not. */
let began: number | undefined

/**
 * Called between two steps of long work. While there is time left in the current turn of the event loop it gives nothing; then it gives
 * a promise for a later turn. Short reads of many callers do not wait for the long ones of others: what has made fewer `steps` goes first.
 */
export function pause(steps: number): Promise<void> | undefined {
  if (began === undefined) beginTurn()
  else if (performance.now() - began >= turnMs)
    return new Promise((resume) => {
      const place = paused.findLastIndex((other) => other.steps <= steps)
      paused.splice(place + 1, 0, { steps, resume })
    })
  return undefined
}

function beginTurn() {
  began = performance.now()
  void systemClock.turn().then(() => {
    began = undefined
    if (paused.length === 0) return
    beginTurn()
    resumeNext()
  })
}

/** One after the other, as long as there is time. */
function resumeNext() {
  const next = paused.shift()
  if (!next) return
  next.resume()
  afterwards(() => {
    if (began !== undefined && performance.now() - began < turnMs) resumeNext()
  })
}

/** Calls back when what is going on has come to a stop, in the same turn of the event loop. Only Node knows when that is. */
function afterwards(callback: () => void) {
  const { process } = globalThis
  if (process?.nextTick) queueMicrotask(() => process.nextTick(callback))
}

const waiting: (() => void)[] = []
let long = 0

/** Resolves when there is room for one more long fold, first come, first served, with a function that makes room again. */
export async function enterLong(): Promise<() => void> {
  if (long < mostLong) long++
  else await new Promise<void>((resolve) => waiting.push(resolve))
  return () => {
    const next = waiting.shift()
    if (next) next()
    else long--
  }
}
