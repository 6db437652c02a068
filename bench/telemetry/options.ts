import { parseArgs } from 'node:util'
import type { Wire } from '../contract.ts'
import { Misuse } from '../runner/command.ts'
import { allWires, chosen, wholeNumber } from '../runner/options.ts'
import type { Mode } from './size.ts'
import type { WayName } from './ways.ts'
import { base, ways } from './ways.ts'
import type { WorkName } from './works.ts'
import { works } from './works.ts'

export interface Options {
  readonly mode: Mode
  readonly works: readonly WorkName[]
  /** Beside the one that the others are held against. */
  readonly ways: readonly WayName[]
  readonly wires: readonly Wire[]
  /** Instead of the mode's own number of sets. */
  readonly repeat: number | undefined
  readonly profile: boolean
  /** Whether results go where they are committed. */
  readonly save: boolean
}

const workNames = works.map(({ name }) => name)
const wayNames = ways.map(({ name }) => name).filter((name) => name !== base)

export const help = `npm run bench:telemetry -- [options]

  --quick        a look in about three minutes
  --tiny         only to see that everything works: nothing is to be read from its figures
  --work a,b     only these works: ${workNames.join(', ')}
  --way x,y      only these, beside nobody: ${wayNames.join(', ')}
  --wire z       only these wires: ${allWires.join(', ')}
  --repeat n     how often everything is measured
  --profile      leave a profile of each process's CPU in bench/.cache/
  --save         write results where they are committed, also those of a quick run
  --help         this
`

/** Undefined when only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { quick, tiny, profile = false, save, help: asked, work, way, wire, repeat } = parse(args)
  if (asked) return undefined
  const isPart = Boolean(quick || tiny || profile || work || way || wire || repeat)
  return {
    mode: tiny ? 'tiny' : quick ? 'quick' : 'full',
    works: chosen('work', work, workNames),
    ways: chosen('way', way, wayNames),
    wires: chosen('wire', wire, allWires),
    repeat: repeat === undefined ? undefined : wholeNumber('repeat', repeat),
    profile,
    save: save ?? !isPart,
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean' } as const
  const text = { type: 'string' } as const
  const flags = { quick: flag, tiny: flag, profile: flag, save: flag, help: flag }
  const options = { ...flags, work: text, way: text, wire: text, repeat: text }
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error))
  }
}
