import { longArguments, partials } from './arguments.ts'
import { coldImport } from './import.ts'
import { loop, short, text, varied } from './repeated.ts'
import { overlap, rounds } from './rounds.ts'
import { streams } from './streams.ts'
import type { Workload } from './workload.ts'

/** In the order of the report. */
export const workloads: readonly Workload[] = [
  text,
  varied,
  short,
  loop,
  longArguments,
  partials,
  streams,
  rounds,
  overlap,
  coldImport,
]

export const workloadOf = (name: string) => workloads.find((work) => work.name === name)
