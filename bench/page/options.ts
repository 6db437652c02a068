import { parseArgs } from 'node:util'
import { Misuse } from '../runner/command.ts'
import type { Mode } from './size.ts'

export interface Options {
  readonly mode: Mode
  /** Whether results go where they are committed. */
  readonly save: boolean
}

export const help = `npm run bench:page -- [options]

  --quick        a shorter answer, and everything once
  --tiny         only to see that everything works: nothing is to be read from its figures
  --save         write results where they are committed, also those of a quick run
  --help         this
`

/** Undefined when only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { quick = false, tiny = false, save, help: asked } = parse(args)
  if (asked) return undefined
  const mode = tiny ? 'tiny' : quick ? 'quick' : 'full'
  return { mode, save: save ?? mode === 'full' }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({ args: [...args], options: { quick: flag, tiny: flag, save: flag, help: flag } }).values
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error))
  }
}
