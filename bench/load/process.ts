import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

// A part of the load in a process of its own, and how it is asked for things.

type Answers = Readonly<Record<string, (about: never) => unknown>>

interface Question {
  readonly id: number
  readonly what: string
  readonly about: unknown
}

type Answer = { readonly id: number; readonly value?: unknown; readonly error?: string }

export interface Part<Asked extends Answers> {
  ask<What extends keyof Asked & string>(
    what: What,
    ...about: Parameters<Asked[What]>
  ): Promise<Awaited<ReturnType<Asked[What]>>>
  /** What it says without being asked. */
  onWord(listener: (word: string) => void): void
  /** Ends it, whatever it does. */
  stop(): Promise<void>
}

/** So long one has to end by itself: it may have a profile to write. */
const patienceMs = 20_000

/** Starts a file, named from this folder. It ends with this process, whatever happens. */
export function startPart<Asked extends Answers>(
  file: string,
  config: object,
  execArgv: readonly string[] = [],
): Part<Asked> {
  const { PATH, HOME, TMPDIR, SystemRoot } = process.env
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(config)], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Nothing of the user's shell (a proxy, a key, tracing) has a part in it.
    env: { PATH, HOME, TMPDIR, SystemRoot, NODE_ENV: 'production' },
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  let listener = (_word: string) => {}
  let asked = 0
  let isOver = false
  child.on('message', (message: Answer | string) => {
    if (typeof message === 'string') return listener(message)
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  const exit = once(child, 'exit').then(() => {
    isOver = true
    for (const [id, answer] of waiting) answer({ id, error: 'the process is gone' })
  })
  return {
    async ask(what, ...[about]) {
      const answer = await new Promise<Answer>((resolve) => {
        const id = ++asked
        if (isOver) return resolve({ id, error: 'the process is gone' })
        waiting.set(id, resolve)
        child.send({ id, what, about } satisfies Question)
      })
      if (answer.error !== undefined) throw new Error(`${file} ${what}: ${answer.error}`)
      return answer.value as never
    },
    onWord(hear) {
      listener = hear
    },
    async stop() {
      if (child.connected) child.disconnect()
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      await exit
      clearTimeout(timer)
    },
  }
}

/** What the process was started with. */
export function configOf<Config>(): Config {
  return JSON.parse(process.argv[2] ?? '{}')
}

/** In the process: answers until whoever started it is gone. */
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

export const say = (word: string) => void (process.connected && process.send?.(word))

/** What a process has used. */
export interface Usage {
  readonly cpuMs: number
  readonly rss: number
  /** The most since it was asked the last time. */
  readonly peak: number
}

/** Looks at its memory now and then. */
export function usage(): () => Usage {
  let peak = 0
  const look = () => {
    const rss = process.memoryUsage.rss()
    if (rss > peak) peak = rss
    return rss
  }
  setInterval(look, 500).unref()
  return () => {
    const rss = look()
    const { user, system } = process.cpuUsage()
    const used = { cpuMs: (user + system) / 1000, rss, peak }
    peak = rss
    return used
  }
}
