import { longArguments, partials } from './arguments.ts'
import { coldImport } from './import.ts'
import { loop, short, text } from './repeated.ts'
import { overlap, rounds } from './rounds.ts'
import { streams } from './streams.ts'
import type { Work } from './work.ts'

/** In the order in which they are reported. */
export const works: readonly Work[] = [
  text,
  short,
  loop,
  longArguments,
  partials,
  streams,
  rounds,
  overlap,
  coldImport,
]

export const workOf = (name: string) => works.find((work) => work.name === name)
