import { monitorEventLoopDelay } from 'node:perf_hooks'
import { answer, configOf } from '../../bench/harness/answer.ts'
import { agent } from '../../packages/millrace/src/agent/index.ts'
import { sqliteStore } from '../../packages/millrace/src/log/sqlite.ts'
import { serve } from '../../packages/millrace/src/server/index.ts'
import { model, tools } from './model.ts'
import { appOptions, limits, userOf } from './options.ts'

// The attacked server, in its own process.

const store = sqliteStore(configOf<{ file: string }>().file)
const errors: string[] = []
const tickMs = 5
const delays = monitorEventLoopDelay({ resolution: tickMs })
delays.enable()
/**
 * The most CPU time of this thread between two timers. On a busy machine a turn can be long because
 * of other processes.
 */
let mostBusy = 0
let busyBefore = 0
let seenAt = { time: performance.now(), busy: 0 }
const busyMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
setInterval(() => {
  const busy = busyMs()
  mostBusy = Math.max(mostBusy, busy - busyBefore)
  busyBefore = busy
}, tickMs).unref()

const app = serve({
  agents: { desk: agent({ name: 'desk', model, tools, maxCallsPerRound: 100_000 }) },
  store,
  page: false,
  limits,
  ...appOptions,
  auth(request) {
    const user = userOf(request.headers.get('authorization')?.replace('Bearer ', '') ?? '')
    return user === undefined ? null : { user }
  },
  onError: (error) => errors.push(`${error.op} ${error.code}: ${error.message}`.slice(0, 300)),
})

const asked = {
  open: async () => (await app.listen()).url,
  /** Since the last call; memory since the start of the process. */
  seen() {
    const longestTurn = delays.max / 1e6
    const busiestTurn = mostBusy
    const before = seenAt
    seenAt = { time: performance.now(), busy: busyMs() }
    delays.reset()
    mostBusy = 0
    return {
      longestTurn,
      busiestTurn,
      /** The share of time in which its thread was busy. */
      load: (seenAt.busy - before.busy) / (seenAt.time - before.time),
      memory: process.memoryUsage.rss(),
      most: process.resourceUsage().maxRSS * 1024,
      errors: errors.splice(0),
    }
  },
}
export type ServerAnswers = typeof asked
answer(asked)
