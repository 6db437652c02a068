import { parseArgs } from 'node:util'
import { closest, invalidInput } from '../protocol/index.ts'
import type { Command, Flags } from './flags.ts'
import { choicesOf, commands, flags, takes } from './flags.ts'

export interface CommandLine {
  readonly command: Command
  /** What stands behind the command; for `ask` the words of the question. */
  readonly words: readonly string[]
  readonly flags: Flags
}

const op = 'millrace'

/**
 * A first word that is the name of a command is one; everything else is a question, and so is whatever stands behind `--`.
 * Throws `invalid_input` that says what was meant, as far as that can be guessed.
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
  } else if (rest.length > commands[command].most) {
    const [verb, most] = [commands[command].words, commands[command].most]
    throw invalidInput(
      op,
      `millrace ${command} takes ${most === 0 ? 'no words' : `only ${verb}`}: to ask this as a question, put it in quotes or behind --`,
    )
  }
  for (const name of Object.keys(values) as (keyof Flags)[])
    if (!takes(command, name))
      throw invalidInput(
        op,
        `--${name} is no option of ${command === 'ask' ? 'a question' : `millrace ${command}`}`,
      )
  const given = values as Flags
  if (given.quiet && given.verbose)
    throw invalidInput(op, '--quiet and --verbose together make no sense: leave one of them out')
  return { command, words: rest, flags: given }
}

function parse(argv: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      { type: flag.type, ...('short' in flag && { short: flag.short }) },
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
      : 'see millrace --help; words that begin with - go behind --'
    throw invalidInput(op, `there is no option ${given}: ${hint}`)
  }
}

/** `--voice agents.ts` is one without a word behind it, which `parseArgs` knows nothing of. */
function withChoices(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, at) => {
    if (end !== -1 && at > end) return word
    const [, name = '', given] = /^--([a-z]+)(?:=(.*))?$/s.exec(word) ?? []
    const choices = choicesOf(name)
    if (!choices) return word
    if (given !== undefined && !choices.includes(given))
      throw invalidInput(op, `--${name} takes ${choices.join(', ')}, not '${given}'`)
    const next = argv[at + 1] ?? ''
    // No module has such a name: it has a dot in it.
    if (
      given === undefined &&
      /^[a-z]+$/i.test(next) &&
      !choices.includes(next) &&
      !Object.hasOwn(commands, next)
    )
      throw invalidInput(op, `--${name} takes ${choices.join(', ')}, not '${next}'`)
    return given !== undefined || choices.includes(next) ? word : `${word}=${choices[0]}`
  })
}

/** `millrace thread` is a slip of the finger rather than a question, and a question costs money. */
function checkLoneWord(word: string): void {
  const like = Object.keys(commands).find((name) => isSlip(word.toLowerCase(), name))
  if (like)
    throw invalidInput(
      op,
      `did you mean the command 'millrace ${like}'? To ask it as a question: millrace -- ${word}`,
    )
}

/** One letter too many, too few or wrong, or two that changed places. `hello` is not `help`, and the first thing people try. */
function isSlip(word: string, name: string): boolean {
  let start = 0
  while (start < word.length && word[start] === name[start]) start++
  let [a, b] = [word.slice(start), name.slice(start)]
  while (a && b && a.at(-1) === b.at(-1)) [a, b] = [a.slice(0, -1), b.slice(0, -1)]
  return (a.length <= 1 && b.length <= 1) || (a.length === 2 && b === `${a[1]}${a[0]}`)
}
