import { systemClock } from '../protocol/index.ts'

/** So long folding may keep the event loop busy in one of its turns. */
const turnMs = 2
/** So many long folds go on at once, and so many of one caller: each holds what it has read. */
const mostLong = 4
const mostLongOfCaller = 2

/** Work of so many steps is long. It rests when others were busy in the same turn: so many times as long as they were, 10 ms at most. */
const longSteps = 4
const restShare = 2
const longestRestMs = 10

/** Work that waits for a turn, and how many steps it has made: what has made the fewest goes first. */
interface Paused {
  readonly steps: number
  readonly resume: () => void
}
const paused: Paused[] = []
const isLong = ({ steps }: Paused) => steps >= longSteps
/** When folding began in the current turn; undefined if it has not. */
let began: number | undefined
/** Long work waits: others have their share of the event loop. */
let isResting = false

/**
 * Called between two steps of long work. While there is time left in the current turn of the event loop it gives nothing; then it gives
 * a promise for a later turn. Short reads of many callers do not wait for the long ones of others: what has made fewer `steps` goes first.
 * So `steps` counts what this piece of work has done, not how old its thread is.
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
  const since = performance.now()
  began = since
  void systemClock.turn().then(() => {
    began = undefined
    const [next] = paused
    if (!next) return
    const othersMs = performance.now() - since - turnMs
    if (isLong(next) && othersMs > turnMs) restLong(Math.min(longestRestMs, othersMs * restShare))
    goOn()
  })
}

function restLong(ms: number) {
  if (isResting) return
  isResting = true
  setTimeout(() => {
    isResting = false
    if (began === undefined) goOn()
  }, ms)
}

function goOn() {
  const [next] = paused
  if (!next || (isResting && isLong(next))) return
  beginTurn()
  resumeNext()
}

/** One after the other, as long as there is time. */
function resumeNext() {
  const [next] = paused
  if (!next || (isResting && isLong(next))) return
  paused.shift()
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

const waiting: { readonly caller: string | undefined; readonly enter: () => void }[] = []
/** Whose long folds go on. */
const long: (string | undefined)[] = []

function hasRoom(caller: string | undefined): boolean {
  if (long.length >= mostLong) return false
  return caller === undefined || long.filter((other) => other === caller).length < mostLongOfCaller
}

/** Resolves when there is room for one more long fold of a caller, with a function that makes room again. First come, first served. */
export async function enterLong(caller?: string | undefined): Promise<() => void> {
  if (hasRoom(caller)) long.push(caller)
  else await new Promise<void>((enter) => waiting.push({ caller, enter }))
  return () => {
    long.splice(long.indexOf(caller), 1)
    const index = waiting.findIndex((other) => hasRoom(other.caller))
    const [next] = index < 0 ? [] : waiting.splice(index, 1)
    if (!next) return
    long.push(next.caller)
    next.enter()
  }
}
