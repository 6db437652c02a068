import type { CallerUsage } from '../store.ts'
import { minuteOf } from '../usage.ts'
import { toColumn } from './rows.ts'
import type { ReadStatements, Statements } from './statements.ts'

/** A change to what a caller uses. */
export interface Change {
  readonly bytes: number
  readonly waiting: number
  readonly tokens?: number
}

interface CallerRow {
  readonly n: number
  readonly bytes: number
  readonly waiting: number
  readonly minute: number
  readonly minute_bytes: number
  readonly minute_tokens: number
}

/** What callers use. */
export function callerUsage(statements: ReadStatements) {
  function usageOf(row: CallerRow | undefined, time: number): CallerUsage {
    const { n = -1, bytes = 0, waiting = 0, minute, minute_bytes = 0, minute_tokens = 0 } = row ?? {}
    const current = minute === minuteOf(time)
    return {
      runs: runsOf(n, time),
      waiting,
      storedBytes: bytes,
      bytesThisMinute: current ? minute_bytes : 0,
      tokensThisMinute: current ? minute_tokens : 0,
    }
  }

  function runsOf(n: number, time: number): number {
    return (statements.runsOf.get({ caller: n, now: time }) as { runs: number }).runs
  }

  return {
    runsOf,
    /** Usage by row number. */
    usage(n: number, time: number): CallerUsage {
      return usageOf(statements.getCaller.get(n) as unknown as CallerRow | undefined, time)
    },
    /** Usage by name; zeros if the caller uses nothing. */
    usageByName(name: string, time: number): CallerUsage {
      return usageOf(statements.findCaller.get(toColumn(name)) as unknown as CallerRow | undefined, time)
    },
  }
}

/** The rows of callers. All methods must run within a transaction. */
export function callerRows(statements: Statements) {
  /** Added bytes count for the current minute. */
  function count(n: number | null, { bytes, waiting, tokens = 0 }: Change, time: number): void {
    if (n === null) return
    const minute = minuteOf(time)
    statements.countCaller.run(bytes, waiting, minute, Math.max(0, bytes), minute, tokens, minute, n)
  }

  return {
    ...callerUsage(statements),
    /**
     * Returns a caller's row number, and adds the row if necessary. Adding one also removes callers
     * that no longer use anything.
     */
    numberOf(name: string, time: number): number {
      const found = statements.findCaller.get(toColumn(name)) as unknown as CallerRow | undefined
      if (found) return found.n
      statements.forgetCallers.run(minuteOf(time))
      return Number(statements.addCaller.run(toColumn(name)).lastInsertRowid)
    },
    count,
    /** Sums up changes for several callers, and writes each row once. */
    counter() {
      const totals = new Map<number, Required<Change>>()
      return {
        add(n: number, { bytes, waiting, tokens = 0 }: Change): void {
          const before = totals.get(n) ?? { bytes: 0, waiting: 0, tokens: 0 }
          totals.set(n, {
            bytes: before.bytes + bytes,
            waiting: before.waiting + waiting,
            tokens: before.tokens + tokens,
          })
        },
        write(time: number): void {
          for (const [n, total] of totals) count(n, total, time)
        },
      }
    },
  }
}

export type CallerRows = ReturnType<typeof callerRows>
