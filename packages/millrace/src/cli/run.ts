import { messageOf, toMillraceError } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { readArgs } from './args.ts'
import { exitCodes, exitOfError } from './exit-codes.ts'
import type { Command } from './flags.ts'
import { commands } from './flags.ts'
import { helpFor } from './help.ts'
import { jsonLine } from './json-lines.ts'
import type { Output } from './output.ts'
import { openOutput } from './output.ts'
import { cleanText } from './terminal/index.ts'
import { readVersion } from './version.ts'

/** Runs one command and leaves with its exit code, once everything is written. */
export async function run(argv: readonly string[]): Promise<never> {
  const output = openOutput()
  // Part of Node 22 is an experiment to Node, and none to whoever asks a question.
  process.removeAllListeners('warning').on('warning', ({ name, message, code }: NodeJS.ErrnoException) => {
    // The missing sandbox is told where the tools are taken up.
    if (name !== 'ExperimentalWarning' && code !== 'MILLRACE_NO_SANDBOX') output.tell(`${name}: ${message}`)
  })
  const exit = await execute(argv, output).catch((thrown: unknown) => {
    output.tell(cleanText(`millrace: ${messageOf(thrown)}`))
    return exitOfError(thrown)
  })
  await output.flushed()
  if (output.problem === undefined) process.exit(exit)
  output.tell(`millrace: stdout cannot be written: ${output.problem}`)
  await output.flushed()
  process.exit(exitCodes.failed)
}

async function execute(argv: readonly string[], output: Output): Promise<number> {
  const line = readArgs(argv)
  const { command, flags } = line
  if (flags.version) {
    output.say(`${readVersion()}\n`)
    return exitCodes.ok
  }
  if (flags.help || command === 'help') {
    const [about] = command === 'help' ? line.words : [command]
    output.say(helpFor(about !== undefined && Object.hasOwn(commands, about) ? (about as Command) : 'ask'))
    return exitCodes.ok
  }
  try {
    return await (await commandOf(command))(line, output)
  } catch (thrown) {
    // Whoever reads an answer line by line finds in the last one also why there is none.
    if (flags.json && (command === 'ask' || command === 'approve'))
      output.say(
        jsonLine({
          result: {
            outcome: 'failed',
            text: '',
            error: toMillraceError(thrown, { op: 'millrace', code: 'store_error' }).toJSON(),
          },
        }),
      )
    throw thrown
  }
}

async function commandOf(
  command: Exclude<Command, 'help'>,
): Promise<(line: CommandLine, output: Output) => Promise<number>> {
  switch (command) {
    case 'ask':
      return (await import('./ask.ts')).ask
    case 'serve':
      return (await import('./serve.ts')).serve
    case 'mcp':
      return (await import('./mcp.ts')).serveMcp
    case 'threads':
      return (await import('./threads.ts')).listThreads
    case 'show':
      return (await import('./show.ts')).showThread
    case 'export':
      return (await import('./export.ts')).exportThread
    case 'approve':
      return (await import('./approve.ts')).approve
    case 'stop':
      return (await import('./stop.ts')).stopThread
    case 'delete':
      return (await import('./delete.ts')).deleteThread
  }
}
