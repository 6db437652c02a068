/** The answer goes to stdout, everything else to stderr. */
export interface Output {
  /** Writes to stdout. */
  print(text: string): void
  /** Writes a line to stderr. */
  note(line: string): void
  /** Resolves when stdout can take more, or is closed. */
  drained(): Promise<void>
  /** Resolves when everything is written to stdout and stderr, before the process exits. */
  flushed(): Promise<void>
  /** Aborted when stdout can no longer be written. */
  readonly closed: AbortSignal
  /** Why stdout failed; undefined if its reader closed it. */
  readonly error: string | undefined
}

export function openOutput(): Output {
  const { stdout, stderr } = process
  const closed = new AbortController()
  let error: string | undefined
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // `millrace … | head -1` is not an error. A closed terminal fails with EIO.
    if (code !== 'EPIPE' && code !== 'EIO') error ??= message
    closed.abort()
  })
  stderr.on('error', () => {})

  return {
    closed: closed.signal,
    get error() {
      return error
    },
    print(text) {
      if (!closed.signal.aborted) stdout.write(text)
    },
    note: (line) => void stderr.write(`${line}\n`),
    async drained() {
      if (!stdout.writableNeedDrain || closed.signal.aborted) return
      await new Promise<void>((resolve) => {
        const onDrain = () => {
          stdout.off('drain', onDrain)
          closed.signal.removeEventListener('abort', onDrain)
          resolve()
        }
        stdout.on('drain', onDrain)
        closed.signal.addEventListener('abort', onDrain)
      })
    },
    async flushed() {
      await Promise.all(
        [stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))),
      )
    },
  }
}
