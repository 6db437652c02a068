import { fromColumn, takeTurns, toColumn } from 'millrace/internal'
import type { Lease, RunLimits, RunnableThread, ThreadStore } from 'millrace/store'
import { factValues, saveFacts } from './facts.ts'
import type { StoreParts } from './parts.ts'

interface DueRow {
  readonly id: string
  readonly agent: string
  readonly head: number
  readonly caller: number
  readonly waited: number
}

/** How many callers one search considers. If there are more, the next search starts after them. */
const maxCallers = 1000

/** Who works on which thread. */
export function leases({ database, sql, now, changes }: StoreParts) {
  const { table, time, expired, lock, count, ofMinute } = sql
  /** The caller after which the next search starts, for threads of either priority. */
  const searchedUpTo = new Map<boolean, number>()

  const runs = (where: string) => `
    (SELECT count(*) FROM ${table('heads')} AS h WHERE h.owner IS NOT NULL AND NOT ${expired} AND ${where})`
  /** Waits for claims of the same caller and the same agent. `$2` are agents with a limit. */
  const lockForClaim = `
    SELECT CASE WHEN caller <> 0 THEN ${lock("'runs of ' || caller")} END,
      CASE WHEN agent = ANY ($2::text[]) THEN ${lock("'runs by ' || agent")} END
    FROM ${table('heads')} WHERE id = $1`
  const claimText = `
    WITH ${time}
    UPDATE ${table('heads')} AS h SET
      epoch = h.epoch + CASE WHEN h.owner = $3 THEN 0 ELSE 1 END,
      losses = CASE WHEN h.owner IS NULL THEN 0 WHEN h.owner = $3 THEN h.losses ELSE h.losses + 1 END,
      batch = CASE WHEN h.owner = $3 THEN h.batch ELSE 0 END,
      owner = $3, lease_until = ms + $4::bigint, lease_ms = $4::bigint
    FROM now
    WHERE h.id = $2 AND (h.owner = $3 OR
      CASE WHEN h.owner IS NULL THEN h.due IS NOT NULL ELSE ${expired} END
      AND ($5::bigint IS NULL OR h.caller = 0 OR
        ${runs(`h.caller = (SELECT caller FROM ${table('heads')} WHERE id = $2)`)} < $5)
      AND NOT EXISTS (
        SELECT FROM unnest($6::text[], $7::bigint[]) AS full_agent (name, most)
        WHERE name = h.agent AND ${runs('h.agent = name')} >= most))
    RETURNING h.epoch, h.losses`
  const renewText = `
    WITH ${time}
    UPDATE ${table('heads')} AS h SET lease_until = ms + $5::bigint, lease_ms = $5::bigint
    FROM now, unnest($2::text[], $3::bigint[], $4::text[]) AS l (id, epoch, owner)
    WHERE h.id = l.id AND h.epoch = l.epoch AND h.owner = l.owner RETURNING h.id, h.epoch`
  const releaseText = (more = '') => `
    WITH ${time},
    held AS (
      SELECT * FROM ${table('heads')} WHERE id = $2 AND epoch = $3 AND owner = $4 AND head = $5 FOR UPDATE
    ),
    released AS (
      UPDATE ${table('heads')} AS h SET owner = NULL, listed = h.changed, run_bytes = 0, run_waiting = 0, run_minute = 0,
        due = CASE WHEN $6 = 'runnable' THEN ms END, resting = CASE WHEN $6 = 'runnable' THEN h.resting ELSE $6 END
      FROM now, held WHERE h.id = held.id
    ),
    freed AS (DELETE FROM ${table('holds')} AS o USING held WHERE o.thread = held.n),
    counted AS (${count(`
      SELECT caller, run_bytes AS bytes, run_waiting AS waiting, ${ofMinute} FROM held, now`)})${more}
    SELECT FROM held`
  const plainRelease = releaseText()
  const releaseWithFacts = releaseText(`, ${saveFacts(sql, 7)}`)
  const ownerText = `SELECT owner FROM ${table('heads')} WHERE id = $1 AND epoch = $2`

  const nextCaller = (after: string) => `
    (SELECT caller FROM ${table('heads')} AS h
      WHERE owner IS NULL AND due IS NOT NULL AND background = $2 AND caller > ${after} ORDER BY caller LIMIT 1)`
  /**
   * Steps from caller to caller through the index, so that the cost does not depend on how many
   * threads each has. Threads with an owner are few.
   */
  const queuesText = `
    WITH RECURSIVE ${time},
    due (caller) AS (
      SELECT ${nextCaller('$3::bigint')} UNION ALL SELECT ${nextCaller('due.caller')} FROM due WHERE due.caller IS NOT NULL
    ),
    owned AS MATERIALIZED (
      SELECT caller, background, ${expired} AS expired FROM ${table('heads')} AS h, now WHERE owner IS NOT NULL
    ),
    queues AS (
      SELECT caller FROM due WHERE caller IS NOT NULL
      UNION SELECT caller FROM owned WHERE expired AND background = $2 AND caller > $3::bigint
      ORDER BY caller LIMIT ${maxCallers}
    )
    SELECT q.caller, count(o.caller) AS runs FROM queues AS q
    LEFT JOIN owned AS o ON o.caller = q.caller AND NOT o.expired AND q.caller <> 0
    GROUP BY q.caller ORDER BY q.caller`
  const dueText = `
    WITH ${time},
    found AS (
      SELECT h.* FROM unnest($3::bigint[]) AS asked (caller) CROSS JOIN LATERAL (
        (SELECT id, n, agent, head, caller, due AS since FROM ${table('heads')}
          WHERE owner IS NULL AND due IS NOT NULL AND background = $2 AND caller = asked.caller AND agent = ANY ($4::text[])
          ORDER BY due LIMIT $5)
        UNION ALL
        (SELECT id, n, agent, head, caller, lease_until FROM ${table('heads')} AS h, now
          WHERE owner IS NOT NULL AND ${expired} AND background = $2 AND caller = asked.caller AND agent = ANY ($4::text[])
          ORDER BY lease_until LIMIT $5)
        ORDER BY since, n LIMIT $5
      ) AS h
    )
    SELECT id, agent, head, caller, greatest(0, ms - since) AS waited FROM found, now ORDER BY since, n`
  const busyAgentsText = `
    WITH ${time}
    SELECT agent, count(*) AS runs FROM ${table('heads')} AS h, now
    WHERE owner IS NOT NULL AND NOT ${expired} AND agent = ANY ($2::text[]) GROUP BY agent`

  async function agentsWithRoom(op: string, agents: readonly string[], { perAgent = {} }: RunLimits) {
    const limited = agents.filter((agent) => perAgent[agent] !== undefined)
    if (limited.length === 0) return agents
    const busy = await database.query<{ agent: string; runs: number }>(op, busyAgentsText, [
      now(),
      limited.map(toColumn),
    ])
    const runsOf = new Map(busy.map(({ agent, runs }) => [fromColumn(agent), runs]))
    return agents.filter((agent) => (runsOf.get(agent) ?? 0) < (perAgent[agent] ?? Infinity))
  }

  /** `before` are the threads that are claimed before these. */
  async function find(
    op: string,
    { limit, agents, maxRuns }: { limit: number; agents: readonly string[]; maxRuns: number },
    { background, before }: { readonly background: boolean; readonly before: readonly DueRow[] },
  ): Promise<DueRow[]> {
    const queues = await database.query<{ caller: number; runs: number }>(op, queuesText, [
      now(),
      background,
      searchedUpTo.get(background) ?? -1,
    ])
    searchedUpTo.set(background, queues.length < maxCallers ? -1 : (queues.at(-1)?.caller as number))
    const turns = takeTurns<DueRow>({ limit, queues, maxRuns, before })
    for (let step = turns.next(); ; ) {
      if (step.done) return step.value
      const { callers, most } = step.value
      const values = [now(), background, callers, agents.map(toColumn), most]
      step = turns.next(await database.query<DueRow>(op, dueText, values))
    }
  }

  return {
    async claim(threadId, owner, leaseMs, { perCaller, perAgent = {} } = {}) {
      const op = 'store.claim'
      await database.ready(op)
      const limited = Object.entries(perAgent)
      const agents = limited.map(([agent]) => toColumn(agent))
      const most = perCaller !== undefined && perCaller < Infinity ? perCaller : null
      const id = toColumn(threadId)
      const values = [
        ...[now(), id, toColumn(owner), Math.round(leaseMs), most],
        ...[agents, limited.map(([, runs]) => runs)],
      ]
      type Claimed = { epoch: number; losses: number }
      const [claimed] =
        most === null && agents.length === 0
          ? await database.query<Claimed>(op, claimText, values)
          : await database.transaction(op, async (query, commit) => {
              const locked = query(lockForClaim, [id, agents])
              const [rows] = await Promise.all([commit<Claimed>(claimText, values), locked])
              return rows
            })
      if (!claimed) return undefined
      return { lease: { threadId, owner, epoch: claimed.epoch }, losses: claimed.losses }
    },

    async renew(held, leaseMs) {
      const op = 'store.renew'
      await database.ready(op)
      if (held.length === 0) return []
      const rows = await database.query<{ id: string; epoch: number }>(op, renewText, [
        now(),
        held.map(({ threadId }) => toColumn(threadId)),
        held.map(({ epoch }) => epoch),
        held.map(({ owner }) => toColumn(owner)),
        Math.round(leaseMs),
      ])
      const renewed = new Map(rows.map(({ id, epoch }) => [fromColumn(id), epoch]))
      return held.filter(({ threadId, epoch }) => renewed.get(threadId) !== epoch)
    },

    async release({ threadId, epoch, owner }: Lease, { head, status, facts }) {
      const op = 'store.release'
      await database.ready(op)
      const id = toColumn(threadId)
      const values = [now(), id, epoch, toColumn(owner), head, status]
      const [released] = await (facts
        ? database.query(op, releaseWithFacts, [...values, ...factValues(facts)])
        : database.query(op, plainRelease, values))
      if (released) {
        if (status === 'runnable') changes.runnable()
        return 'released'
      }
      const [row] = await database.query<{ owner: string | null }>(op, ownerText, [id, epoch])
      if (!row) return 'fenced'
      // Without an owner, it was released before, and this is a repetition.
      if (row.owner === null) return 'released'
      return fromColumn(row.owner) === owner ? 'moved' : 'fenced'
    },

    async findRunnable(limit, agents, limits = {}) {
      const op = 'store.findRunnable'
      await database.ready(op)
      const search = {
        limit,
        agents: await agentsWithRoom(op, agents, limits),
        maxRuns: limits.perCaller ?? Infinity,
      }
      if (search.agents.length === 0) return []
      const describe =
        (priority: RunnableThread['priority']) =>
        ({ id, agent, head, waited }: DueRow): RunnableThread => ({
          id: fromColumn(id),
          agent: fromColumn(agent),
          head,
          priority,
          waitedMs: waited,
        })
      const first = await find(op, search, { background: false, before: [] })
      const rest =
        first.length < limit
          ? await find(op, { ...search, limit: limit - first.length }, { background: true, before: first })
          : []
      return [...first.map(describe('interactive')), ...rest.map(describe('batch'))]
    },
  } satisfies Partial<ThreadStore>
}
