import type { Command } from './flags.ts'
import { commands, flags, takes } from './flags.ts'

/** What `--help` says: of everything, or of one command. */
export function helpFor(command: Command): string {
  const lines =
    command === 'ask'
      ? [
          'millrace "question"             One answer on stdout; what is on stdin is joined to it',
          'millrace                        A chat, in a terminal',
          ...Object.entries(commands).map(([name, { words, says }]) =>
            column(`millrace ${name} ${words}`.trimEnd(), says),
          ),
        ]
      : [column(`millrace ${command} ${commands[command].words}`.trimEnd(), commands[command].says)]
  return [...lines, '', ...flagLines(command), '', ...ending(command), ''].join('\n')
}

function flagLines(command: Command): string[] {
  const names = Object.keys(flags) as (keyof typeof flags)[]
  return names
    .filter((name) => takes(command, name))
    .map((name) => {
      const flag = flags[name]
      const short = 'short' in flag ? `-${flag.short}, ` : '    '
      return column(`  ${short}--${name}${'value' in flag ? ` ${flag.value}` : ''}`, flag.says)
    })
}

function ending(command: Command): string[] {
  return command === 'ask'
    ? [
        'Keys are read from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, …; a local Ollama is found by itself.',
        'To try it without either: millrace --model simulator "hello".',
        'Exit: 0, 1 failed, 2 usage, 3 auth, 4 limit, 5 time-out, 6 waits for a person, 130 interrupted.',
      ]
    : ['millrace --help tells the rest.']
}

function column(left: string, right: string): string {
  return `${left.padEnd(31)} ${right}`
}
