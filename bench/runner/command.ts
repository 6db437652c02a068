/** Something in the command line that cannot be; the message says what can. */
export class Misuse extends Error {}

interface Command<Options> {
  readonly help: string
  /** Undefined if only help was asked for. Throws `Misuse`. */
  readonly readOptions: (args: readonly string[]) => Options | undefined
  /** Gives the exit code. The signal is aborted by Ctrl-C. */
  readonly act: (options: Options, signal: AbortSignal) => Promise<number>
}

export async function runCommand<Options>({ help, readOptions, act }: Command<Options>): Promise<void> {
  const interrupt = new AbortController()
  process.once('SIGINT', () => interrupt.abort())
  process.once('SIGTERM', () => interrupt.abort())
  try {
    const options = readOptions(process.argv.slice(2))
    if (options) process.exitCode = await act(options, interrupt.signal)
    else process.stdout.write(help)
  } catch (error) {
    if (interrupt.signal.aborted) process.exitCode = 130
    else if (error instanceof Misuse) {
      process.stderr.write(`${error.message}\n\n${help}`)
      process.exitCode = 2
    } else throw error
  }
}
