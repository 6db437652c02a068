import { parseArgs } from 'node:util'
import { Misuse } from '../runner/command.ts'
import type { Mode } from './size.ts'

/** What is measured: the splitter, many threads that are spoken, the voice and ears that are installed. */
export type Work = 'sentences' | 'speaking' | 'parts'

export interface Options {
  readonly mode: Mode
  readonly works: readonly Work[]
  /** Whether results go where they are committed. */
  readonly save: boolean
}

const all: readonly Work[] = ['sentences', 'speaking', 'parts']

export const help = `npm run bench:voice -- [options]

  --quick        one turn of each scene, of half the length, and everything once
  --tiny         only to see that everything works: nothing is to be read from its figures
  --only a,b     only these: ${all.join(', ')}
  --save         write results where they are committed, also those of a part or of a quick run
  --help         this
`

/** Undefined when only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { quick = false, tiny = false, only, save, help: asked } = parse(args)
  if (asked) return undefined
  const mode = tiny ? 'tiny' : quick ? 'quick' : 'full'
  return {
    mode,
    works: only === undefined ? all : only.split(',').map(workOf),
    save: save ?? (mode === 'full' && only === undefined),
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean' } as const
  const options = { quick: flag, tiny: flag, save: flag, help: flag, only: { type: 'string' } } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error))
  }
}

function workOf(name: string): Work {
  const found = all.find((work) => work === name)
  if (!found) throw new Misuse(`--only: there is no "${name}", but there are ${all.join(', ')}`)
  return found
}
