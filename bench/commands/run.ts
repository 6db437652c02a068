import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import type { RunContext } from '../harness/part.ts'
import { withChildren } from '../harness/process.ts'
import { versionsOf } from '../harness/report.ts'
import { withFolder } from '../load/setup.ts'
import type { ServerAnswers as ProviderAnswers } from '../server/main.ts'
import { scenarioOf } from '../server/scenario.ts'
import { textOf } from '../workloads/received.ts'
import type { Options, Size } from './part.ts'
import { type Way, waysOf } from './ways.ts'

/** In milliseconds: of the first use of an empty home, and of the next one. */
export interface Figures {
  readonly first: number
  readonly cpu: number
  readonly wall: number
}

const limitMs = 600_000
const answerMs = 30_000
const scenario = 'text-20'

/** Sets take turns, each in another order: other load on the machine affects all commands. */
export function measureCommands({ size, options, signal: given, onStep }: RunContext<Size, Options>) {
  const sets = options.repeat ?? size.sets
  const ways = waysOf(options.way)
  return withChildren({ signal: given, limitMs, what: 'the commands' }, async (start, signal) => {
    const provider = `${await start<ProviderAnswers>('server/main.ts').ask('open')}/${scenario}/v1`
    await fetch(`${provider}/chat/completions`)
    const measured: Record<string, Figures>[] = []
    for (let set = 0; set < sets; set++) {
      const figures: Record<string, Figures> = {}
      for (const way of set % 2 === 0 ? ways : ways.toReversed()) {
        onStep(`${set + 1}/${sets} ${way.name}`)
        figures[way.name] = await withFolder(async (home) => {
          const { cpu: first } = await runOnce(way, provider, home, signal)
          return { first, ...(await runOnce(way, provider, home, signal)) }
        })
      }
      measured.push(figures)
    }
    return {
      measured,
      ways: ways.map(({ name, title, ours, kind }) => ({ name, title, ours, kind })),
      packages: versionsOf('hono', '@hono/node-server'),
    }
  })
}

/** CPU time, and the time until it exits or answers the first request. */
async function runOnce(way: Way, provider: string, home: string, signal: AbortSignal) {
  const port = await freePort()
  const hook = join(import.meta.dirname, 'usage-hook.cjs')
  const begin = performance.now()
  const child = spawn(process.execPath, ['--require', hook, ...way.args({ provider, port })], {
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    // Nothing from the user's shell gets in, and caches go with the home.
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: home, OPENAI_API_KEY: 'none' },
    signal,
    timeout: answerMs,
    killSignal: 'SIGKILL',
  })
  const exited = once(child, 'exit')
  const [, output, , usage] = child.stdio
  const printed = text(output as NodeJS.ReadableStream)
  const used = text(usage as NodeJS.ReadableStream)
  if (way.kind === 'serve') await firstByte(port, () => child.exitCode === null)
  else await exited
  const wall = performance.now() - begin
  if (way.kind === 'serve') child.kill('SIGUSR2')
  const [code] = await exited
  const cpu = Number.parseFloat(await used)
  if (code !== 0 || !Number.isFinite(cpu)) throw new Error(`${way.name} exited with ${code}`)
  const sent = scenarioOf(scenario)
  if (way.kind === 'answer' && way.prints && sent && (await printed).trim() !== textOf(sent).trim())
    throw new Error(`${way.name} printed ${(await printed).slice(0, 80)}`)
  return { cpu, wall }
}

/** Asks until there is an answer. */
async function firstByte(port: number, isAlive: () => boolean): Promise<void> {
  while (isAlive()) {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
    const answered = await Promise.race([
      once(socket, 'data').then(([bytes]) => String(bytes).startsWith('HTTP/1.1 200')),
      once(socket, 'close').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (answered) return
    await wait(2)
  }
  throw new Error('the server did not start')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}
