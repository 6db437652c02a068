import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { agent, type ModelRequest, tool } from 'millrace'
import { type ScriptRound, scriptedModel } from 'millrace/testing'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { anthropicApi } from '../../packages/millrace/src/protocols/anthropic/index.ts'
import { openaiApi } from '../../packages/millrace/src/protocols/openai/index.ts'
import { served } from '../../packages/millrace/src/server/server.test-kit.ts'
import { root } from '../root.ts'
import type { AskOptions, Client, Home } from './clients.ts'

type Script = (request: ModelRequest) => ScriptRound

/** A server with one agent, which has the tool `grind`, as the model `mill` of all three formats. */
export async function serveMill(script: Script, { graceMs = 20_000 } = {}) {
  let grinds = 0
  const grind = tool({
    name: 'grind',
    description: 'Grinds corn',
    input: z.object({}),
    run: () => `flour ${++grinds}`,
  })
  const model = scriptedModel(script, { deltaChars: 6, paceMs: 1 })
  const mill = agent({ name: 'mill', model, tools: [grind] })
  const { app } = served(
    { mill },
    {
      protocols: [openaiApi({ graceMs }), anthropicApi({ graceMs })],
      clientOptions: ['tools', 'toolChoice', 'output', 'system', 'settings'],
    },
  )
  const { url } = await app.listen()
  return {
    url,
    port: Number(new URL(url).port),
    requests: model.requests,
    grinds: () => grinds,
    threads: async () => (await app.threads()).threads,
    async outcomes() {
      const { threads } = await app.threads()
      const logs = await Promise.all(threads.map(({ id }) => app.thread(id).read()))
      return logs.flat().flatMap(({ event }) => (event.type === 'run-end' ? [event.outcome] : []))
    },
  }
}

/** A home for a client, with its configuration, deleted at the end of the test. */
export function homeOf(client: Client, url: string): Home {
  // Codex warns if its home is in the temporary folder, and works nevertheless.
  const home = mkdtempSync(join(tmpdir(), 'millrace-model-client-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  const work = join(home, 'work')
  mkdirSync(work)
  client.configure({ home, work, url })
  return { home, work, url }
}

interface StartOptions extends AskOptions {
  readonly program: string
}

/** Starts a client in a process group of its own: it is what Ctrl-C in a terminal goes to. */
export function start(client: Client, prompt: string, { program, ...options }: StartOptions) {
  const { home, work } = options.home
  const { args, env } = client.ask(prompt, options)
  const child = spawn(program, args, {
    cwd: work,
    env: { ...ownEnv(home), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  const ended = new Promise<{ exit: number | string; output: string }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ exit: code ?? signal ?? 'unknown', output }))
  })
  const kill = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, signal)
  }
  onTestFinished(() => kill('SIGKILL'))
  return { ended, interrupt: () => kill('SIGINT') }
}

/** Nothing of ours, and a proxy that refuses: only loopback can be reached. */
function ownEnv(home: string): NodeJS.ProcessEnv {
  const proxy = 'http://127.0.0.1:9'
  return {
    // pi needs Node 22.19, which may be newer than the one that runs the tests.
    PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter),
    HOME: home,
    TMPDIR: tmpdir(),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  }
}
