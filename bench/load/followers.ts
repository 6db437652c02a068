import { setTimeout as wait } from 'node:timers/promises'
import { answer, configOf, usage } from '../harness/answer.ts'
import { type Histogram, histogram } from '../harness/measure.ts'
import { stampLength } from '../server/scenario.ts'
import { deltaLength } from './conversation.ts'
import { type Follower, follower, type LogCheck, type SeenEntry } from './follower.ts'
import type { FollowerPlan } from './part.ts'

// All followers, in their own process. Counts what arrives, and how late.

const { urls } = configOf<{ urls: readonly string[] }>()
const all: Follower[] = []
/** Entries written in this interval count; milliseconds since 1970. */
let from = Number.POSITIVE_INFINITY
let to = Number.POSITIVE_INFINITY

interface Tally {
  entries: number
  frames: number
  /** Since the entry was written, and since the provider sent the word. */
  readonly sinceWritten: Histogram
  readonly sinceSaid: Histogram
}

const newTally = (): Tally => ({ entries: 0, frames: 0, sinceWritten: histogram(), sinceSaid: histogram() })
/** By transport or by group; stuck followers are counted separately. */
const newTallies = () => ({
  sse: newTally(),
  socket: newTally(),
  stuck: newTally(),
  same: newTally(),
  other: newTally(),
})
let tallies = newTallies()

/** For another process. */
function countsOf({ entries, frames, sinceWritten, sinceSaid }: Tally) {
  return { entries, frames, sinceWritten: sinceWritten.counts(), sinceSaid: sinceSaid.counts() }
}

function count(tally: Tally, { seq, from: first = seq, at, event }: SeenEntry) {
  if (at < from || at >= to) return
  tally.frames++
  tally.entries += seq - first + 1
  tally.sinceWritten.add(Date.now() - at)
  if (event.type !== 'text' || event.text === undefined) return
  // All processes of a machine share the monotonic clock.
  const [seconds, nanos] = process.hrtime()
  for (let place = 0; place < event.text.length; place += deltaLength) {
    const said = Number(event.text.slice(place, place + stampLength)) / 1e6
    tally.sinceSaid.add(seconds * 1e3 + nanos / 1e6 - said)
  }
}

const asked = {
  async connect(plans: readonly FollowerPlan[]) {
    const added = plans.map((plan) => {
      const kind = plan.stuck ? 'stuck' : (plan.group ?? plan.transport)
      const url = urls[plan.server ?? 0] ?? ''
      return follower({ plan, url, onEntry: (entry) => count(tallies[kind], entry) })
    })
    all.push(...added)
    await Promise.all(added.map(({ connected }) => connected))
  },
  /** Counts entries written from now on. */
  begin() {
    tallies = newTallies()
    from = Date.now()
    to = Number.POSITIVE_INFINITY
  },
  end() {
    to = Date.now()
  },
  startReading() {
    for (const one of all) one.startReading()
  },
  /** Waits until all have reached these entries, but not forever. */
  async catchUp({ heads, withinMs }: { heads: Readonly<Record<string, number>>; withinMs: number }) {
    const deadline = performance.now() + withinMs
    const isBehind = ({ plan, log }: Follower) => log.head < (heads[plan.thread] ?? 0)
    while (all.some(isBehind) && performance.now() < deadline) await wait(20)
  },
  tallies: () => ({
    sse: countsOf(tallies.sse),
    socket: countsOf(tallies.socket),
    stuck: countsOf(tallies.stuck),
    same: countsOf(tallies.same),
    other: countsOf(tallies.other),
  }),
  logs: (): FollowerLog[] =>
    all.map(({ plan, log: { head, words, faults } }) => ({ plan, head, words, faults: faults.slice(0, 3) })),
  usage: usage(),
}
export type FollowersAnswers = typeof asked

/** What one follower received. */
export interface FollowerLog extends Pick<LogCheck, 'head' | 'words' | 'faults'> {
  readonly plan: FollowerPlan
}
answer(asked)
