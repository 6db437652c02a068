/** Where the command speaks: the answer on stdout, everything else on stderr. */
export interface Output {
  say(text: string): void
  /** A line for people. */
  tell(line: string): void
  /** Resolves when stdout has taken what was said, or nobody reads it any more. */
  drained(): Promise<void>
  /** The same for both: before the process may leave. */
  flushed(): Promise<void>
  /** Aborted when stdout takes nothing any more. */
  readonly gone: AbortSignal
  /** Why it does not, if that is not because whoever read it has gone. */
  readonly problem: string | undefined
}

export function openOutput(): Output {
  const { stdout, stderr } = process
  const gone = new AbortController()
  let problem: string | undefined
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // `millrace … | head -1` is no error of ours. A terminal that was closed fails with EIO.
    if (code !== 'EPIPE' && code !== 'EIO') problem ??= message
    gone.abort()
  })
  stderr.on('error', () => {})

  return {
    gone: gone.signal,
    get problem() {
      return problem
    },
    say(text) {
      if (!gone.signal.aborted) stdout.write(text)
    },
    tell: (line) => void stderr.write(`${line}\n`),
    async drained() {
      if (!stdout.writableNeedDrain || gone.signal.aborted) return
      await new Promise<void>((resolve) => {
        const taken = () => {
          stdout.off('drain', taken)
          gone.signal.removeEventListener('abort', taken)
          resolve()
        }
        stdout.on('drain', taken)
        gone.signal.addEventListener('abort', taken)
      })
    },
    async flushed() {
      await Promise.all(
        [stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))),
      )
    },
  }
}
