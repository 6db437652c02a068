import { join } from 'node:path'
import { type Counts, delaysIn, median, spreadOf } from '../../harness/measure.ts'
import { type Child, type Start, withChildren } from '../../harness/process.ts'
import type { StorePlace } from '../open-store.ts'
import { withFolder } from '../setup.ts'
import { type AppendFigures, type StoreName, stores } from './figures.ts'
import type { Context } from './part.ts'
import type { WriterAnswers, WriterConfig } from './writer.ts'

export interface AppendSize {
  readonly processes: readonly number[]
  /** How many threads a group has, and how many events each of them; each number is measured. */
  readonly threads: number
  readonly events: readonly number[]
  readonly turns: number
  readonly seconds: number
}

/** One turn of all processes of a store. */
interface Turn {
  /** Per second. */
  readonly entries: number
  readonly times: readonly Counts[]
  /** Of the processes and of the PostgreSQL server, in microseconds per entry. */
  readonly cpu: number
  readonly postgresCpu: number | undefined
  readonly walBytes: number
}

const patienceMs = 120_000

/**
 * How much a store takes that is always given more, compared with plain inserts of the same rows.
 * All take short turns, so that other load on the machine affects all of them.
 */
export async function measureAppend(size: AppendSize, context: Context): Promise<AppendFigures[]> {
  const figures: AppendFigures[] = []
  for (const processes of size.processes)
    await withPlaces(stores, context, (places) => {
      const turnsMs = size.turns * size.events.length * stores.length * size.seconds * 1000
      const limit = { signal: context.signal, limitMs: 2 * turnsMs + patienceMs, what: 'appending' }
      return withChildren(limit, async (start) => {
        const all = await Promise.all(places.map((place) => openWriters(start, place, processes, size)))
        for (const events of size.events) {
          context.onStep(`appending ${size.threads} × ${events} entries, ${processes} processes`)
          const turns = await takeTurns(all, events, size, context)
          figures.push(...stores.map((store) => figuresOf({ store, processes, events }, size, turns)))
        }
        for (const writers of all) await closeWriters(writers)
      })
    })
  return figures
}

interface Writers {
  readonly store: StoreName
  readonly children: readonly Child<WriterAnswers>[]
  written: number
}

async function openWriters(
  start: Start,
  place: StorePlace,
  processes: number,
  { threads }: AppendSize,
): Promise<Writers> {
  const children = Array.from({ length: processes }, (_, index) => {
    const config: WriterConfig = { place, name: `w${index}`, threads }
    return start<WriterAnswers>('load/postgres/writer.ts', config)
  })
  await Promise.all(children.map((child) => child.ask('open')))
  return { store: place.kind, children, written: 0 }
}

async function closeWriters({ store, children, written }: Writers) {
  const heads = await Promise.all(children.map((child) => child.ask('close')))
  const stored = heads.reduce((sum, head) => sum + head, 0)
  if (stored !== written) throw new Error(`${store} has stored ${stored} of ${written} entries`)
}

type Turns = Readonly<Record<StoreName, readonly Turn[]>>

async function takeTurns(
  all: readonly Writers[],
  events: number,
  { turns, seconds }: AppendSize,
  context: Context,
): Promise<Turns> {
  const taken: Record<StoreName, Turn[]> = { floor: [], postgres: [], sqlite: [] }
  // In the first turn code is compiled, statements are prepared, and tables get warm.
  for (let turn = 0; turn <= turns; turn++)
    for (const writers of turn % 2 === 0 ? all : all.toReversed()) {
      const result = await takeTurn(writers, events, seconds, context)
      if (turn > 0) taken[writers.store].push(result)
    }
  return taken
}

async function takeTurn(
  writers: Writers,
  events: number,
  seconds: number,
  { server }: Context,
): Promise<Turn> {
  const usage = async () => {
    const used = await Promise.all(writers.children.map((child) => child.ask('usage')))
    const cpuMs = used.reduce((sum, one) => sum + one.cpuMs, 0)
    return { cpuMs, walBytes: await server.walBytes(), postgresMs: server.cpuMs() }
  }
  const before = await usage()
  const written = await Promise.all(writers.children.map((child) => child.ask('write', { events, seconds })))
  const after = await usage()
  const entries = written.reduce((sum, one) => sum + one.entries, 0)
  writers.written += entries
  const perEntry = (value: number) => value / entries
  return {
    entries: written.reduce((sum, one) => sum + one.entries / (one.ms / 1000), 0),
    times: written.map(({ times }) => times),
    cpu: perEntry((after.cpuMs - before.cpuMs) * 1000),
    postgresCpu:
      after.postgresMs !== undefined && before.postgresMs !== undefined
        ? perEntry((after.postgresMs - before.postgresMs) * 1000)
        : undefined,
    walBytes: perEntry(after.walBytes - before.walBytes),
  }
}

function figuresOf(
  about: Pick<AppendFigures, 'store' | 'processes' | 'events'>,
  { threads }: AppendSize,
  turns: Turns,
): AppendFigures {
  const own = turns[about.store]
  const total = (turn: Turn | undefined) => (turn ? turn.cpu + (turn.postgresCpu ?? 0) : Number.NaN)
  const ofFloor = (value: (turn: Turn | undefined) => number) =>
    spreadOf(own.map((turn, index) => value(turn) / value(turns.floor[index])))
  const isPostgres = about.store !== 'sqlite'
  const postgresCpu = own.flatMap((turn) => turn.postgresCpu ?? [])
  return {
    ...about,
    threads,
    entries: spreadOf(own.map(({ entries }) => entries)),
    ofFloor: ofFloor((turn) => turn?.entries ?? Number.NaN),
    cpuOfFloor: ofFloor(total),
    times: delaysIn(joined(own.flatMap(({ times }) => times))),
    cpu: median(own.map(({ cpu }) => cpu)),
    ...(isPostgres && {
      walBytes: median(own.map(({ walBytes }) => walBytes)),
      ...(postgresCpu.length > 0 && { postgresCpu: median(postgresCpu) }),
    }),
  }
}

/** Runs `work` with a new, empty place for a store. */
export function withPlace<Result>(
  store: StoreName,
  { server }: Context,
  work: (place: StorePlace) => Promise<Result>,
): Promise<Result> {
  if (store === 'sqlite')
    return withFolder((folder) => work({ kind: store, file: join(folder, 'threads.db') }))
  return server.withDatabase((url) => work({ kind: store, url }))
}

/** The same for several stores at a time. */
async function withPlaces<Result>(
  [store, ...others]: readonly StoreName[],
  context: Context,
  work: (places: readonly StorePlace[]) => Promise<Result>,
): Promise<Result> {
  if (!store) return work([])
  return withPlace(store, context, (place) =>
    withPlaces(others, context, (places) => work([place, ...places])),
  )
}

/** The counts of several processes together. */
function joined(all: readonly Counts[]): Counts {
  const steps = new Map<number, number>()
  for (const { steps: counted } of all)
    for (const [step, count] of counted) steps.set(step, (steps.get(step) ?? 0) + count)
  return {
    max: Math.max(0, ...all.map(({ max }) => max)),
    steps: [...steps].toSorted(([one], [other]) => one - other),
  }
}
