import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Wire } from '../contract.ts'
import { works } from '../works/index.ts'
import type { Mode } from '../works/work.ts'
import { Misuse } from './command.ts'

export interface Options {
  readonly mode: Mode
  readonly works: readonly string[]
  readonly clients: readonly string[]
  readonly wires: readonly Wire[]
  /** Instead of each work's own number. */
  readonly repeat: number | undefined
  readonly seed: number
  /** Whether results go where they are committed. */
  readonly save: boolean
}

export const allWires: readonly Wire[] = ['chat', 'responses', 'messages']

/** Every file in `clients/` is one. */
export function clientNames(): string[] {
  const files = readdirSync(join(import.meta.dirname, '../clients'), { withFileTypes: true })
  return files
    .filter((file) => file.isFile() && file.name.endsWith('.ts'))
    .map(({ name }) => name.slice(0, -3))
    .toSorted()
}

export const help = `npm run bench -- [options]

  --quick          a look in less than two minutes, with one process for all works of a client
  --tiny           only to see that everything works: nothing is to be read from its figures
  --work a,b       only these works: ${works.map(({ name }) => name).join(', ')}
  --client x,y     only these clients, beside the reference: files of bench/clients/, or paths
  --wire z         only these wires: ${allWires.join(', ')}
  --repeat n       how often everything is measured
  --seed n         the order of a run before
  --save           write results where they are committed, also those of a part or of a quick run
  --help           this
`

/** Undefined when only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { quick, tiny, help: asked, save, ...given } = parse(args)
  if (asked) return undefined
  const partial = [quick, tiny, given.work, given.client, given.wire, given.repeat].some(
    (value) => value !== undefined,
  )
  const names = clientNames()
  return {
    mode: tiny ? 'tiny' : quick ? 'quick' : 'full',
    works: chosen(
      'work',
      given.work,
      works.map(({ name }) => name),
    ),
    clients: chosen('client', given.client, names, (name) => name.includes('/')),
    wires: chosen('wire', given.wire, allWires),
    repeat: given.repeat === undefined ? undefined : wholeNumber('repeat', given.repeat),
    seed: given.seed === undefined ? Date.now() % 1_000_000 : wholeNumber('seed', given.seed),
    save: save ?? !partial,
  }
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        quick: flag,
        tiny: flag,
        help: flag,
        save: flag,
        work: text,
        client: text,
        wire: text,
        repeat: text,
        seed: text,
      },
    })
    return values
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error))
  }
}

/** The names in an option's value, all of them if there is none. Throws `Misuse` at one that is not known. */
export function chosen<Name extends string>(
  option: string,
  value: string | undefined,
  known: readonly Name[],
  other: (name: string) => boolean = () => false,
): Name[] {
  if (value === undefined) return [...known]
  const isKnown = (name: string): name is Name => known.some((one) => one === name) || other(name)
  return value.split(',').map((name) => {
    if (!isKnown(name))
      throw new Misuse(`--${option}: there is no "${name}", but there are ${known.join(', ')}`)
    return name
  })
}

export function wholeNumber(option: string, value: string): number {
  const number = Number(value)
  if (!Number.isInteger(number) || number < 1)
    throw new Misuse(`--${option}: must be a whole number from 1, not "${value}"`)
  return number
}
