import type { Command, Flag } from './flags.ts'
import { commands, flags, takes } from './flags.ts'

/** The text of `--help`: of `millrace` itself, or of one command. */
export function helpFor(command: Command): string {
  const lines =
    command === 'ask'
      ? [
          row('millrace "question"', 'Ask once and print the answer (stdin is appended to the question)'),
          row('millrace', 'Chat in the terminal'),
          ...Object.keys(commands).map((name) => commandLine(name as keyof typeof commands)),
        ]
      : [commandLine(command)]
  return [...lines, '', ...flagLines(command), '', ...footer(command), ''].join('\n')
}

function commandLine(command: keyof typeof commands): string {
  const { args, help } = commands[command]
  return row(`millrace ${command} ${args}`.trimEnd(), help)
}

function flagLines(command: Command): string[] {
  const names = Object.keys(flags) as (keyof typeof flags)[]
  return names
    .filter((name) => takes(command, name))
    .map((name) => {
      const flag: Flag = flags[name]
      const { value, help } = flag.of?.[command] ?? flag
      const short = flag.short === undefined ? '    ' : `-${flag.short}, `
      return row(`  ${short}--${name}${value === undefined ? '' : ` ${value}`}`, help)
    })
}

function footer(command: Command): string[] {
  return command === 'ask'
    ? [
        'API keys are read from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, …',
        'A local Ollama is detected automatically.',
        'To try it without a model: millrace --model simulator "hello"',
        'Exit codes: 0 ok, 1 failed, 2 usage, 3 auth, 4 limit, 5 timeout, 6 waiting for an answer, 130 interrupted.',
      ]
    : ['See millrace --help for everything else.']
}

function row(left: string, right: string): string {
  return `${left.padEnd(31)} ${right}`
}
