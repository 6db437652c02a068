import { systemClock } from '../protocol/index.ts'

/** How long folding may keep the event loop busy in one turn. */
const turnMs = 2
/** How many long folds run at a time, overall and per caller. Each one holds what it has read. */
const maxLongFolds = 4
const maxLongFoldsOfCaller = 2

/**
 * Work with at least this many steps is long. It rests when other work was busy in the same turn:
 * `restFactor` times as long as that work took, but 10 ms at most.
 */
const longSteps = 4
const restFactor = 2
const maxRestMs = 10

/**
 * Work that waits for a turn, and how many steps it has made. The work with the fewest steps
 * resumes first.
 */
interface Paused {
  readonly steps: number
  readonly resume: () => void
}
const paused: Paused[] = []
const isLong = ({ steps }: Paused) => steps >= longSteps
/** When folding started in the current turn; undefined if it has not. */
let turnStart: number | undefined
/** Long work is resting, so that other work gets its share of the event loop. */
let isResting = false

/**
 * Called between two steps of long work. Returns undefined while there is time left in the current
 * turn of the event loop, then a promise for a later turn. Work with fewer `steps` resumes first,
 * so that many short reads do not wait for a few long ones. `steps` therefore counts what this
 * piece of work has done, not how old its thread is.
 */
export function pause(steps: number): Promise<void> | undefined {
  if (turnStart === undefined) startTurn()
  else if (performance.now() - turnStart >= turnMs)
    return new Promise((resume) => {
      const place = paused.findLastIndex((other) => other.steps <= steps)
      paused.splice(place + 1, 0, { steps, resume })
    })
  return undefined
}

function startTurn() {
  const since = performance.now()
  turnStart = since
  void systemClock.turn().then(() => {
    turnStart = undefined
    const [next] = paused
    if (!next) return
    const othersMs = performance.now() - since - turnMs
    if (isLong(next) && othersMs > turnMs) restLongWork(Math.min(maxRestMs, othersMs * restFactor))
    resumePaused()
  })
}

function restLongWork(ms: number) {
  if (isResting) return
  isResting = true
  setTimeout(() => {
    isResting = false
    if (turnStart === undefined) resumePaused()
  }, ms)
}

function resumePaused() {
  const [next] = paused
  if (!next || (isResting && isLong(next))) return
  startTurn()
  resumeNext()
}

/** Resumes work, one piece after the other, as long as there is time. */
function resumeNext() {
  const [next] = paused
  if (!next || (isResting && isLong(next))) return
  paused.shift()
  next.resume()
  whenPausedAgain(() => {
    if (turnStart !== undefined && performance.now() - turnStart < turnMs) resumeNext()
  })
}

/**
 * Calls `callback` when the resumed work has paused again, in the same turn of the event loop. Only
 * Node has a hook for that.
 */
function whenPausedAgain(callback: () => void) {
  const { process } = globalThis
  if (process?.nextTick) queueMicrotask(() => process.nextTick(callback))
}

const waiting: { readonly caller: string | undefined; readonly start: () => void }[] = []
/** The callers of the running long folds. */
const longFolds: (string | undefined)[] = []

function hasRoom(caller: string | undefined): boolean {
  if (longFolds.length >= maxLongFolds) return false
  return caller === undefined || longFolds.filter((other) => other === caller).length < maxLongFoldsOfCaller
}

/**
 * Resolves when a caller may start another long fold, with a function to call when it is done.
 * First come, first served.
 */
export async function startLongFold(caller?: string | undefined): Promise<() => void> {
  if (hasRoom(caller)) longFolds.push(caller)
  else await new Promise<void>((start) => waiting.push({ caller, start }))
  return () => {
    longFolds.splice(longFolds.indexOf(caller), 1)
    const index = waiting.findIndex((other) => hasRoom(other.caller))
    const [next] = index < 0 ? [] : waiting.splice(index, 1)
    if (!next) return
    longFolds.push(next.caller)
    next.start()
  }
}
