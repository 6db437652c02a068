// The child's side of a child process: its config and its answers. Imports nothing, so that a cold
// import stays cold.

export type Answers = Readonly<Record<string, (about: never) => unknown>>

export interface Question {
  readonly id: number
  readonly what: string
  readonly about: unknown
}

export type Answer = { readonly id: number; readonly value?: unknown; readonly error?: string }

/** What the process was started with. */
export function configOf<Config>(): Config {
  return JSON.parse(process.argv[2] ?? '{}')
}

/** Answers questions until the parent process exits. */
export function answer(answers: Answers): void {
  process.on('message', async ({ id, what, about }: Question) => {
    const reply = (answer: Answer) => process.connected && process.send?.(answer)
    try {
      reply({ id, value: await answers[what]?.(about as never) })
    } catch (error) {
      reply({ id, error: error instanceof Error ? error.message : String(error) })
    }
  })
  process.on('disconnect', () => process.exit(0))
}

/** Sends a message to the parent process without being asked. */
export const say = (word: string) => void (process.connected && process.send?.(word))

/** What a process has used. */
export interface Usage {
  readonly cpuMs: number
  readonly rss: number
  /** The peak since the last question. */
  readonly peak: number
}

/** Samples the memory of this process. */
export function usage(): () => Usage {
  let peak = 0
  const sample = () => {
    const rss = process.memoryUsage.rss()
    if (rss > peak) peak = rss
    return rss
  }
  setInterval(sample, 500).unref()
  return () => {
    const rss = sample()
    const { user, system } = process.cpuUsage()
    const used = { cpuMs: (user + system) / 1000, rss, peak }
    peak = rss
    return used
  }
}

/** Bytes in use after a garbage collection. */
export function heldBytes(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
