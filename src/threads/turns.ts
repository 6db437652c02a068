import { systemClock } from '../protocol/index.ts'

/** So long folding may keep the event loop busy in one of its turns. */
const turnMs = 4
/** So many long folds go on at once: each holds what it has read. */
const mostLong = 4

const paused: (() => void)[] = []
/** When folding began in the current turn; undefined if it has not. */
let began: number | undefined

/**
 * Called between two steps of long work. While there is time left in the current turn of the event loop it gives nothing; then it gives
 * a promise for a later turn. Everything in the process that pauses takes turns, one in each turn of the loop.
 */
export function pause(): Promise<void> | undefined {
  if (began === undefined) beginTurn()
  else if (performance.now() - began >= turnMs) return new Promise((resolve) => paused.push(resolve))
  return undefined
}

function beginTurn() {
  began = performance.now()
  void systemClock.turn().then(() => {
    began = undefined
    const resume = paused.shift()
    if (!resume) return
    beginTurn()
    resume()
  })
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
