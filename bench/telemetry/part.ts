import type { Wire } from '../contract.ts'
import { flagOption, namesOption, numberOption } from '../harness/options.ts'
import type { Part } from '../harness/part.ts'
import { allWires } from '../works/work.ts'
import { type TelemetryResults, tablesOf } from './figures.ts'
import { base, type Size, sizes, type WayName, type WorkName, ways, works } from './ways.ts'

export interface Options {
  readonly work: readonly WorkName[]
  /** Beside the one that the others are held against. */
  readonly way: readonly WayName[]
  readonly wire: readonly Wire[]
  /** Instead of the mode's own number of sets. */
  readonly repeat: number | undefined
  readonly profile: boolean
}

export const telemetryPart: Part<Size, Options, TelemetryResults> = {
  name: 'telemetry',
  title: 'Telemetry',
  about: 'what it costs to look on at a run; 40 minutes, three with --quick',
  sizes,
  options: {
    work: namesOption(
      works.map(({ name }) => name),
      'only these works',
    ),
    way: namesOption(
      ways.map(({ name }) => name).filter((name) => name !== base),
      'only these ways, beside nobody',
    ),
    wire: namesOption(allWires, 'only these wires'),
    repeat: numberOption('how often everything is measured'),
    profile: flagOption("leave a profile of each process's CPU in bench/.cache/"),
  },
  run: async (context) => (await import('./run.ts')).measureTelemetry(context),
  details: ({ sets }) => [`${sets} sets of processes`],
  tables: tablesOf,
  faults: ({ faults }) => faults,
}
