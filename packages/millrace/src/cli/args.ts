import { parseArgs } from 'node:util'
import { closest, invalidInput } from '../protocol/index.ts'
import type { Command, Flags } from './flags.ts'
import { choicesOf, commands, commandsTaking, flags, takes } from './flags.ts'

export interface CommandLine {
  readonly command: Command
  /** The arguments after the command. For `ask`, the words of the question. */
  readonly words: readonly string[]
  readonly flags: Flags
}

const op = 'millrace'

/**
 * The first word is the command if it names one. Otherwise, and after `--`, the words are a question.
 * Throws `invalid_input`, with a suggestion where one can be guessed.
 */
export function readArgs(argv: readonly string[]): CommandLine {
  const { values, tokens } = parse(argv)
  const end = tokens.find(({ kind }) => kind === 'option-terminator')?.index ?? Number.POSITIVE_INFINITY
  const words = tokens.filter((token) => token.kind === 'positional')
  const [first] = words
  const named = first && first.index < end && Object.hasOwn(commands, first.value) ? first.value : undefined
  const command = (named as Command | undefined) ?? 'ask'
  const rest = words.map(({ value }) => value).slice(named ? 1 : 0)

  if (command === 'ask') {
    if (words.length === 1 && first && first.index < end) checkLoneWord(first.value)
  } else if (rest.length > commands[command].maxArgs) {
    const { args, maxArgs } = commands[command]
    throw invalidInput(
      op,
      `millrace ${command} takes ${maxArgs === 0 ? 'no arguments' : `only ${args}`}. To ask a question instead, quote it or put it after --`,
    )
  }
  for (const name of Object.keys(values) as (keyof Flags)[])
    if (!takes(command, name)) throw invalidInput(op, `--${name} only works with ${commandsTaking(name)}`)
  const oneOf = (list: readonly unknown[]) => (values.gateway ? list.join(',') : list.at(-1))
  const given = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Array.isArray(value) ? oneOf(value) : value]),
  ) as Flags
  if (given.quiet && given.verbose) throw invalidInput(op, '--quiet and --verbose cannot be combined')
  return { command, words: rest, flags: given }
}

function parse(argv: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      { type: flag.type, ...('short' in flag && { short: flag.short }), multiple: 'isList' in flag },
    ]),
  )
  try {
    return parseArgs({ args: withChoices(argv), options, allowPositionals: true, strict: true, tokens: true })
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException
    const [, given = ''] = /'(-[^' ]*)/.exec(message) ?? []
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw invalidInput(op, message.replace(/\n/g, ' '), thrown)
    const like = given.startsWith('--') ? closest(given, Object.keys(flags)) : undefined
    const hint = like
      ? `did you mean --${like}?`
      : 'see millrace --help; put words that start with - after --'
    throw invalidInput(op, `unknown option ${given}: ${hint}`)
  }
}

/** Fills in the default for a flag with choices that has no value, which `parseArgs` cannot express. */
function withChoices(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, at) => {
    if (end !== -1 && at > end) return word
    const [, name = '', given] = /^--([a-z]+)(?:=(.*))?$/s.exec(word) ?? []
    const choices = choicesOf(name)
    if (!choices) return word
    if (given !== undefined && !choices.includes(given))
      throw invalidInput(op, `--${name} must be one of ${choices.join(', ')}, not '${given}'`)
    const next = argv[at + 1] ?? ''
    // A plain word is a mistyped choice: a module path contains a dot.
    if (
      given === undefined &&
      /^[a-z]+$/i.test(next) &&
      !choices.includes(next) &&
      !Object.hasOwn(commands, next)
    )
      throw invalidInput(op, `--${name} must be one of ${choices.join(', ')}, not '${next}'`)
    return given !== undefined || choices.includes(next) ? word : `${word}=${choices[0]}`
  })
}

/** `millrace thread` is more likely a typo than a question, and a question costs money. */
function checkLoneWord(word: string): void {
  const like = Object.keys(commands).find((name) => isTypo(word.toLowerCase(), name))
  if (like)
    throw invalidInput(op, `did you mean 'millrace ${like}'? To ask it as a question: millrace -- ${word}`)
}

/**
 * One letter added, missing, wrong, or two swapped. `hello` must not match `help`: it is the first
 * thing people try.
 */
function isTypo(word: string, name: string): boolean {
  let start = 0
  while (start < word.length && word[start] === name[start]) start++
  let [a, b] = [word.slice(start), name.slice(start)]
  while (a && b && a.at(-1) === b.at(-1)) [a, b] = [a.slice(0, -1), b.slice(0, -1)]
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && b === `${a[1]}${a[0]}`)
}
