import { parseArgs } from 'node:util'
import type { AnyPart, Mode } from './part.ts'

/** An invalid command line. The message says what is valid. */
export class Misuse extends Error {}

export interface Option<Value> {
  /** Its placeholder in the help. An option without one is a flag. */
  readonly value?: string
  readonly help: string
  /** Whether it makes the run incomplete, so that results are saved only with `--save`. */
  readonly partial: boolean
  /** `value` is undefined if the option was not passed. Throws `Misuse`. */
  read(value: string | boolean | undefined, name: string): Value
}

/** Some of the known names; all of them by default. */
export function namesOption<Name extends string>(
  known: readonly Name[],
  help: string,
  other: (name: string) => boolean = () => false,
): Option<readonly Name[]> {
  const isKnown = (name: string): name is Name => known.some((one) => one === name) || other(name)
  return {
    value: 'a,b',
    help: `${help}: ${known.join(', ')}`,
    partial: true,
    read: (value, option) =>
      typeof value !== 'string'
        ? known
        : value.split(',').map((name) => {
            if (isKnown(name)) return name
            throw new Misuse(`--${option}: unknown name "${name}"; use ${known.join(', ')}`)
          }),
  }
}

export const numberOption = (help: string, partial = true): Option<number | undefined> => ({
  value: 'n',
  help,
  partial,
  read(value, option) {
    if (value === undefined) return undefined
    const number = Number(value)
    if (Number.isInteger(number) && number >= 1) return number
    throw new Misuse(`--${option}: must be a positive whole number, not "${value}"`)
  },
})

export const flagOption = (help: string): Option<boolean> => ({
  help,
  partial: true,
  read: (value) => value === true,
})

/** Options of every part. */
const common = {
  quick: flagOption('a rough result in a few minutes'),
  tiny: flagOption('only check that everything works; the figures mean nothing'),
  save: flagOption('save the results in results.json and the README, even those of a quick or partial run'),
  help: flagOption('show this help'),
}

export interface Command {
  readonly parts: readonly { readonly part: AnyPart; readonly options: Readonly<Record<string, unknown>> }[]
  readonly mode: Mode
  /** Whether results go into `results.json` and the README. */
  readonly save: boolean
  /** The arguments without the names of parts. */
  readonly rest: readonly string[]
}

/** Undefined for `--help`. Throws `Misuse`. */
export function readCommand(args: readonly string[], all: readonly AnyPart[]): Command | undefined {
  const known: Record<string, Option<unknown>> = Object.assign(
    {},
    ...all.map(({ options }) => options),
    common,
  )
  const types = Object.entries(known).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  )
  const { values, positionals, tokens } = parse(args, Object.fromEntries(types))
  if (values.help) return undefined
  const named = positionals.length === 0 ? all : [...new Set(positionals)].map((name) => partNamed(name, all))
  const parts = named.map((part) => chosen(part, values))
  const own = Object.keys(values).filter((name) => !Object.hasOwn(common, name))
  for (const name of own)
    for (const part of parts)
      if (!Object.hasOwn(part.options, name)) {
        const takers = all.filter(({ options }) => Object.hasOwn(options, name)).map((taker) => taker.name)
        throw new Misuse(
          `--${name} does not work with the part "${part.name}": name a part that has it (${takers.join(', ')})`,
        )
      }
  const mode = values.tiny ? 'tiny' : values.quick ? 'quick' : 'full'
  const places = new Set(tokens.filter(({ kind }) => kind === 'positional').map(({ index }) => index))
  return {
    parts: parts.map((part) => ({
      part,
      options: Object.fromEntries(
        Object.entries<Option<unknown>>(part.options).map(([name, option]) => [
          name,
          option.read(values[name], name),
        ]),
      ),
    })),
    mode,
    save: values.save === true || (mode === 'full' && !own.some((name) => known[name]?.partial)),
    rest: args.filter((_, index) => !places.has(index)),
  }
}

/** The part, or the one that an option puts in its place. */
function chosen(part: AnyPart, values: Readonly<Record<string, unknown>>): AnyPart {
  for (const [option, others] of Object.entries(part.instead ?? {})) {
    const other = others[String(values[option])]
    if (other) return other
  }
  return part
}

type Types = Readonly<Record<string, { readonly type: 'boolean' | 'string' }>>

function parse(args: readonly string[], options: Types) {
  const parsed = parseArgs({
    args: [...args],
    options: { ...options },
    allowPositionals: true,
    tokens: true,
    strict: false,
  })
  for (const token of parsed.tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName } = token
    if (rawName !== `--${name}` || !Object.hasOwn(options, name))
      throw new Misuse(`Unknown option '${rawName}'.${guess(rawName, Object.keys(options), '--')}`)
    const isFlag = options[name]?.type === 'boolean'
    if (isFlag && token.value !== undefined) throw new Misuse(`${rawName} takes no value`)
    if (!isFlag && token.value === undefined) throw new Misuse(`${rawName} needs a value`)
  }
  return parsed
}

function partNamed(name: string, all: readonly AnyPart[]): AnyPart {
  const names = all.map((part) => part.name)
  const found = all.find((part) => part.name === name)
  if (!found)
    throw new Misuse(`Unknown part '${name}'.${guess(name, names)} The parts are ${names.join(', ')}.`)
  return found
}

/** Suggests the nearest name, if one is near enough. */
function guess(given: string, known: readonly string[], prefix = ''): string {
  const near = known
    .map((name) => ({ name: prefix + name, away: distance(given, prefix + name) }))
    .toSorted((a, b) => a.away - b.away)[0]
  return near && near.away <= 2 ? ` Did you mean '${near.name}'?` : ''
}

/** Levenshtein distance. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (const [column, against] of [...other].entries())
      next.push(
        Math.min(
          (row[column] ?? 0) + (letter === against ? 0 : 1),
          (row[column + 1] ?? 0) + 1,
          (next[column] ?? 0) + 1,
        ),
      )
    row = next
  }
  return row.at(-1) ?? 0
}

export function helpOf(parts: readonly AnyPart[]): string {
  const line = (name: string, { value = '', help }: Option<unknown>) =>
    `  ${`--${name} ${value}`.padEnd(15)}${help}\n`
  const linesOf = (options: Readonly<Record<string, Option<unknown>>>) =>
    Object.entries(options).map(([name, option]) => line(name, option))
  const withOthers = parts.flatMap((part) => [
    { ...part, heading: part.name },
    ...Object.entries(part.instead ?? {}).flatMap(([option, others]) =>
      Object.entries(others).map(([value, other]) => ({
        ...other,
        heading: `${part.name} --${option} ${value}`,
      })),
    ),
  ])
  const own = withOthers.map(
    ({ heading, about, options }) => `\n${heading}: ${about}\n${linesOf(options).join('')}`,
  )
  return `npm run bench -- [part…] [options]

Measures the named parts (${parts.map(({ name }) => name).join(', ')}), or all of them.

${linesOf(common).join('')}${own.join('')}`
}
