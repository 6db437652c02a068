import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Client, Wire } from '../contract.ts'
import type { Mode } from '../harness/part.ts'
import { cache } from '../harness/write.ts'
import { numbers } from '../server/scenario.ts'
import { workloads } from './index.ts'
import { loadClient } from './subject.ts'
import type { Case, Workload } from './workload.ts'

/** What the runner knows about a client. */
export interface Known {
  readonly name: string
  readonly label: string
  readonly packages: readonly string[]
  readonly wires: Client['wires']
  /** The module whose import is measured. */
  readonly module: string | undefined
  readonly only: readonly string[] | undefined
  readonly without: Readonly<Record<string, string>>
  /** Why it could not be loaded. */
  readonly problem: string | undefined
}

export const referenceName = 'floor-reference'
export const ourName = 'millrace'

/** What all others are compared with. */
export const isBaseline = (name: string) => name === ourName || name === referenceName

/** If one of these fails, the run fails: without them there is nothing to compare with. */
export const isNeeded = (name: string) => name === ourName || name.startsWith('floor-')

export async function knownClient(name: string): Promise<Known> {
  try {
    const client = await loadClient(name)
    const { label, packages, wires, only, without = {} } = client
    const module = await importModule(name, client)
    return { name, label, packages, wires, only, without, module, problem: undefined }
  } catch (error) {
    const problem = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    const nothing = {
      packages: [],
      wires: ['chat'],
      only: undefined,
      without: {},
      module: undefined,
    } as const
    return { name, label: name, ...nothing, problem }
  }
}

/** Writes the module to import into a folder where imports resolve as in `clients/`. */
async function importModule(name: string, { imports }: Client): Promise<string | undefined> {
  if (imports === undefined) return undefined
  await mkdir(cache, { recursive: true })
  const path = join(cache, `import-${basename(name)}.mjs`)
  await writeFile(path, `${imports}\n`)
  return path
}

/** What to measure. */
export interface Choice {
  readonly mode: Mode
  readonly works: readonly string[]
  readonly wires: readonly Wire[]
  /** Overrides the number of each workload. */
  readonly repeat: number | undefined
  readonly seed: number
}

/** One measurement to make. */
export interface Task {
  readonly work: Workload
  readonly case: Case
  readonly client: Known
  readonly wire: Wire
  readonly repetition: number
}

/** All measurements. Each list runs in its own process; each repetition has its own order. */
export function planOf(options: Choice, clients: readonly Known[]): Task[][] {
  const next = numbers(options.seed)
  const chosen = workloads.filter(({ name }) => options.works.includes(name))
  const most = Math.max(...chosen.map((work) => repetitionsOf(work, options)))
  return Array.from({ length: most }, (_, repetition) => {
    const tasks = chosen
      .filter((work) => repetition < repetitionsOf(work, options))
      .flatMap((work) => tasksOf(work, options, clients, repetition))
    return options.mode === 'full' ? oneByOne(tasks, next) : together(tasks, options.mode, next)
  }).flat()
}

const repetitionsOf = ({ repeat }: Workload, options: Choice) => options.repeat ?? repeat[options.mode]

/** Each in its own process, smaller sizes first, so that larger ones can be left out. */
function oneByOne(tasks: readonly Task[], next: () => number): Task[][] {
  const size = ({ work, case: { name } }: Task) => work.cases('full').findIndex((one) => one.name === name)
  return shuffled(tasks, next)
    .toSorted((a, b) => size(a) - size(b))
    .map((task) => [task])
}

/**
 * All workloads of a client and a wire in one process, since starting one takes longer than
 * measuring. But a cold import, and a fresh process of Millrace and of the floors, need their own. The
 * baselines come first, in case there is not enough time for all of them.
 */
function together(tasks: readonly Task[], mode: Mode, next: () => number): Task[][] {
  const isAlone = ({ client, work }: Task) =>
    work.needs === 'imports' || (mode === 'quick' && isNeeded(client.name) && isFreshToo(work))
  const groups = Map.groupBy(tasks, (task) =>
    [task.client.name, task.wire, isAlone(task) ? task.work.name : ''].join(' '),
  )
  const first = ([task]: readonly Task[]) => (task && isBaseline(task.client.name) ? 0 : 1)
  // Tasks with a short limit come last, since exceeding it kills the process.
  const ordered = Array.from(groups.values(), (group) =>
    group.toSorted((a, b) => b.case.limitMs - a.case.limitMs),
  )
  return shuffled(ordered, next).toSorted((a, b) => first(a) - first(b))
}

function tasksOf(work: Workload, options: Choice, clients: readonly Known[], repetition: number): Task[] {
  const one = (client: Known) => wiresIn(client, options).slice(0, 1)
  // Where each peer is measured on one wire, the baselines are measured on all of those wires.
  const used = clients.flatMap(one)
  function wiresFor(client: Known): readonly Wire[] {
    // An import has no wire; it is reported under the first one.
    if (work.needs === 'imports') return options.wires.slice(0, 1)
    if (client.problem !== undefined) return one(client)
    if (work.wires[options.mode] === 'all') return wiresIn(client, options)
    return isBaseline(client.name)
      ? wiresIn(client, options).filter((wire) => used.includes(wire))
      : one(client)
  }
  return (
    clients
      .filter(({ only }) => only === undefined || only.includes(work.name))
      // A path is another version of Millrace.
      .filter(({ name }) => !work.onlyFloors || isNeeded(name) || name.includes('/'))
      .filter(({ name }) => options.mode !== 'quick' || !work.briefly || !isPlain(name))
      .flatMap((client) =>
        wiresFor(client).flatMap((wire) =>
          work.cases(options.mode).map((size) => ({ work, case: size, client, wire, repetition })),
        ),
      )
  )
}

/** Floors and raw streams, which leave the subject of the longer workloads to their user. */
const isPlain = (name: string) => name !== referenceName && /^floor-|-raw$/.test(name)

const isFreshToo = ({ figures }: Workload) => figures.some(({ key }) => key === 'fresh')

const wiresIn = (client: Known, { wires }: Choice) => wires.filter((wire) => client.wires.includes(wire))

function shuffled<Item>(items: readonly Item[], next: () => number): Item[] {
  const order = items.map((item) => ({ item, place: next() }))
  return order.toSorted((a, b) => a.place - b.place).map(({ item }) => item)
}
