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

/** Runs one command, then exits with its exit code once all output is written. */
export async function run(argv: readonly string[]): Promise<never> {
  const output = openOutput()
  // Node 22 warns about features that we use and that it calls experimental.
  process.removeAllListeners('warning').on('warning', ({ name, message, code }: NodeJS.ErrnoException) => {
    // A missing sandbox is reported as a notice of its tools.
    if (name !== 'ExperimentalWarning' && code !== 'MILLRACE_NO_SANDBOX') output.note(`${name}: ${message}`)
  })
  const exit = await execute(argv, output).catch((thrown: unknown) => {
    output.note(cleanText(`millrace: ${messageOf(thrown)}`))
    return exitOfError(thrown)
  })
  await output.flushed()
  if (output.error === undefined) process.exit(exit)
  output.note(`millrace: cannot write to stdout: ${output.error}`)
  await output.flushed()
  process.exit(exitCodes.failed)
}

async function execute(argv: readonly string[], output: Output): Promise<number> {
  const line = readArgs(argv)
  const { command, flags } = line
  if (flags.version) {
    output.print(`${readVersion()}\n`)
    return exitCodes.ok
  }
  if (flags.help || command === 'help') {
    const [topic] = command === 'help' ? line.words : [command]
    output.print(helpFor(topic !== undefined && Object.hasOwn(commands, topic) ? (topic as Command) : 'ask'))
    return exitCodes.ok
  }
  try {
    return await (await commandOf(command))(line, output)
  } catch (thrown) {
    // With `--json` the last line is always the result, even without an answer.
    if (flags.json && (command === 'ask' || command === 'approve' || command === 'respond'))
      output.print(
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
    case 'acp':
      return (await import('./acp.ts')).serveAcp
    case 'threads':
      return (await import('./threads.ts')).listThreads
    case 'show':
      return (await import('./show.ts')).showThread
    case 'export':
      return (await import('./export.ts')).exportThread
    case 'import':
      return (await import('./import.ts')).importThread
    case 'approve':
      return (await import('./approve.ts')).approve
    case 'respond':
      return (await import('./respond.ts')).respond
    case 'stop':
      return (await import('./stop.ts')).stopThread
    case 'delete':
      return (await import('./delete.ts')).deleteThread
    case 'usage':
      return (await import('./usage.ts')).showUsage
    case 'migrate':
      return (await import('./migrate.ts')).migrate
  }
}
