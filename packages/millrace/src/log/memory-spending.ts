import type { SpendingOptions, SpendingRow, ThreadEvent, ThreadInfo } from '../protocol/index.ts'
import { decideHold } from './holds.ts'
import { isExpired } from './lease.ts'
import type { DayTotal, HeldAmounts, SpendingCounter } from './spending.ts'
import {
  budgetUse,
  dayOf,
  heldAmounts,
  holdGraceMs,
  spendingCounter,
  spendingFilter,
  spendingRows,
  spendsIn,
} from './spending.ts'
import type { DayLimit, Hold, HoldResult } from './store.ts'

/** What a store in memory knows of the threads that hold something. */
interface HoldingThread {
  readonly epoch: number
  readonly due: number | undefined
  readonly leaseMs: number
}

interface HeldRequest {
  readonly epoch: number
  readonly limits: readonly DayLimit[]
  readonly amounts: HeldAmounts
}

const nothing: DayTotal = { nanos: 0, tokens: 0, rounds: 0, toolCalls: 0, ms: 0 }

/** What was spent, and what requests hold, for a store in memory. */
export function memorySpending() {
  const days = new Map<number, SpendingCounter>()
  const holds = new Map<HoldingThread, Map<string, HeldRequest>>()

  /** What other requests hold of a limit. */
  function heldOf({ scope, name }: DayLimit, except: { thread: HoldingThread; id: string; time: number }) {
    const held = { nanos: 0, tokens: 0, rounds: 0 }
    let holders = 0
    for (const [thread, requests] of holds) {
      if (isExpired((thread.due ?? 0) + holdGraceMs, thread.leaseMs + holdGraceMs, except.time)) continue
      for (const [id, { limits, amounts }] of requests) {
        if (thread === except.thread && id === except.id) continue
        if (!limits.some((limit) => limit.scope === scope && limit.name === name)) continue
        held.nanos += amounts.nanos
        held.tokens += amounts.tokens
        held.rounds += amounts.rounds
        holders++
      }
    }
    return { held, holders }
  }

  return {
    count(thread: Pick<ThreadInfo, 'agent' | 'user'>, events: readonly ThreadEvent[], time: number): void {
      const spends = spendsIn(events)
      if (spends.length === 0) return
      const day = dayOf(time)
      const counter = days.get(day) ?? spendingCounter()
      counter.add(thread, spends)
      days.set(day, counter)
    },

    free(thread: HoldingThread, ids: readonly string[]): void {
      const requests = holds.get(thread)
      for (const id of ids) requests?.delete(id)
    },

    freeAll(thread: HoldingThread): void {
      holds.delete(thread)
    },

    hold(thread: HoldingThread, hold: Hold, time: number): HoldResult {
      const { epoch } = thread
      const { id, limits } = hold
      const kept = [...(holds.get(thread) ?? [])].filter(([, request]) => request.epoch === epoch)
      const requests = new Map(kept)
      requests.delete(id)
      holds.set(thread, requests)
      const totals = days.get(dayOf(time))?.totals
      const budgets = limits.map((limit) => {
        const spent = totals?.get(`${limit.scope} ${limit.name}`) ?? nothing
        return budgetUse(limit, spent, heldOf(limit, { thread, id, time }))
      })
      const result = decideHold(hold, budgets)
      if (result.type === 'held') requests.set(id, { epoch, limits, amounts: heldAmounts(hold) })
      return result
    },

    spending(options: SpendingOptions): SpendingRow[] {
      const { by, from, to, agent, user } = spendingFilter(options)
      const rows = [...days].flatMap(([day, counter]) => {
        if (day < from || day > to) return []
        const all = [...counter.rows.values()].map((row) => ({ ...row, day }))
        return all.filter((row) => (agent ?? row.agent) === row.agent && (user ?? row.user) === row.user)
      })
      return spendingRows(rows, by)
    },
  }
}
