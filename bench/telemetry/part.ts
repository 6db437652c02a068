import type { Wire } from '../contract.ts'
import { flagOption, namesOption, numberOption } from '../harness/options.ts'
import type { Part } from '../harness/part.ts'
import { allWires } from '../workloads/workload.ts'
import { type TelemetryResults, tablesOf } from './figures.ts'
import { base, type Size, sizes, type WayName, type WorkName, ways, workloads } from './ways.ts'

export interface Options {
  readonly work: readonly WorkName[]
  /** In addition to the base. */
  readonly way: readonly WayName[]
  readonly wire: readonly Wire[]
  /** Overrides the mode's number of sets. */
  readonly repeat: number | undefined
  readonly profile: boolean
}

export const telemetryPart: Part<Size, Options, TelemetryResults> = {
  name: 'telemetry',
  title: 'Telemetry',
  about: 'the cost of telemetry; 40 minutes, three with --quick',
  sizes,
  options: {
    work: namesOption(
      workloads.map(({ name }) => name),
      'only these workloads',
    ),
    way: namesOption(
      ways.map(({ name }) => name).filter((name) => name !== base),
      'only these kinds of telemetry, and none',
    ),
    wire: namesOption(allWires, 'only these wires'),
    repeat: numberOption('repetitions of each measurement'),
    profile: flagOption('write a CPU profile of each process to bench/.cache/'),
  },
  run: async (context) => (await import('./run.ts')).measureTelemetry(context),
  details: ({ sets }) => [`${sets} sets of processes`],
  tables: tablesOf,
  faults: ({ faults }) => faults,
  /** Workloads that were not measured again stay. */
  merge: (before, now) => ({
    ...now,
    figures: workloads.flatMap(({ name }) => {
      const of = ({ figures }: TelemetryResults) => figures.filter(({ work }) => work === name)
      const measured = of(now)
      return measured.length > 0 ? measured : of(before)
    }),
  }),
}
