import { flagOption, namesOption } from '../../harness/options.ts'
import type { Mode, Part } from '../../harness/part.ts'
import type { AppRun, AppSize } from './app.ts'
import type { AppendSize } from './append.ts'
import { type AppFigures, faultsIn, type PostgresResults, stores, tablesOf } from './figures.ts'
import type { IdleSize } from './idle.ts'
import type { BenchPostgres } from './server.ts'
import type { StoredSize } from './size.ts'
import { storeOption } from './store-option.ts'

/** What the measurements share. */
export interface Context {
  readonly server: BenchPostgres
  readonly signal: AbortSignal
  /** Whether to write CPU profiles of the servers. */
  readonly profile: boolean
  readonly onStep: (step: string) => void
}

export interface Size {
  readonly append: AppendSize
  readonly processes: readonly number[]
  readonly steady: AppSize
  readonly saturated: AppSize
  readonly crowd: AppSize & { readonly processes: number }
  readonly idle: IdleSize
  readonly size: StoredSize
}

const full: Size = {
  append: { processes: [1, 2, 4], threads: 100, events: [8, 1], turns: 10, seconds: 1 },
  processes: [1, 2, 4],
  steady: { threads: 100, followersEach: 2, deltas: 250, everyMs: 50, seconds: 20 },
  saturated: { threads: 400, followersEach: 0, deltas: 500, everyMs: 20, seconds: 20 },
  crowd: { processes: 4, threads: 500, followersEach: 4, deltas: 100, everyMs: 200, seconds: 30 },
  idle: { threads: [100, 10_000, 100_000], times: 300 },
  size: { threads: 100, messagesEach: 10, words: 200, everyMs: 20 },
}

export const sizes: Readonly<Record<Mode, Size>> = {
  full,
  quick: {
    ...full,
    append: { ...full.append, turns: 3 },
    steady: { ...full.steady, seconds: 6, deltas: 100 },
    saturated: { ...full.saturated, seconds: 6, deltas: 200 },
    crowd: { ...full.crowd, seconds: 10, deltas: 50 },
    idle: { ...full.idle, times: 100 },
    size: { ...full.size, messagesEach: 2 },
  },
  tiny: {
    append: { processes: [2], threads: 5, events: [8], turns: 1, seconds: 0.2 },
    processes: [2],
    steady: { threads: 4, followersEach: 2, deltas: 30, everyMs: 10, seconds: 0.5 },
    saturated: { threads: 8, followersEach: 0, deltas: 30, everyMs: 5, seconds: 0.5 },
    crowd: { processes: 2, threads: 6, followersEach: 4, deltas: 30, everyMs: 10, seconds: 0.5 },
    idle: { threads: [100, 1000], times: 5 },
    size: { threads: 2, messagesEach: 1, words: 20, everyMs: 1 },
  },
}

const scenarios = ['append', 'steady', 'saturated', 'crowd', 'idle', 'size'] as const

interface Options {
  readonly store: string
  readonly scenario: readonly (typeof scenarios)[number][]
  readonly profile: boolean
}

/** The part `load` with `--store postgres`. */
export const postgresPart: Part<Size, Options, PostgresResults> = {
  name: 'load-postgres',
  title: 'Millrace with PostgreSQL under load',
  about: 'several processes with one PostgreSQL; about 20 minutes, five with --quick',
  sizes,
  options: {
    store: storeOption,
    scenario: namesOption(scenarios, 'only these scenarios'),
    profile: flagOption('write CPU profiles of the servers to bench/.cache/'),
  },
  async run({ size, options, signal, onStep }) {
    const [{ measureAppend }, { measureApp }, { measureIdle }, { measureSize }, { withPostgres }] =
      await Promise.all([
        import('./append.ts'),
        import('./app.ts'),
        import('./idle.ts'),
        import('./size.ts'),
        import('./server.ts'),
      ])
    const has = (name: (typeof scenarios)[number]) => options.scenario.includes(name)
    const runs = (scenario: AppRun['scenario'], processes: readonly number[]) =>
      has(scenario)
        ? processes.flatMap((count) => stores.map((store): AppRun => ({ scenario, store, processes: count })))
        : []
    return withPostgres(async (server) => {
      const context: Context = { server, signal, onStep, profile: options.profile }
      const app: AppFigures[] = []
      const append = has('append') ? await measureAppend(size.append, context) : []
      for (const run of [
        ...runs('steady', size.processes),
        ...runs('saturated', size.processes),
        ...runs('crowd', [size.crowd.processes]).filter(({ store }) => store !== 'floor'),
      ])
        app.push(await measureApp(run, size[run.scenario], context))
      const idle = has('idle') ? await measureIdle(size.idle, context) : []
      const kept = []
      for (const store of has('size') ? (['postgres', 'sqlite'] as const) : [])
        kept.push(await measureSize(store, size.size, context))
      return { append, app, idle, size: kept }
    })
  },
  tables: tablesOf,
  faults: faultsIn,
  /** What was not measured again stays. */
  merge(before, now) {
    const fresh = new Set(now.app.map(({ scenario }) => scenario))
    const either = <Item>(old: readonly Item[], latest: readonly Item[]) => (latest.length > 0 ? latest : old)
    return {
      ...now,
      append: either(before.append, now.append),
      app: [...before.app.filter(({ scenario }) => !fresh.has(scenario)), ...now.app],
      idle: either(before.idle, now.idle),
      size: either(before.size, now.size),
    }
  },
}
