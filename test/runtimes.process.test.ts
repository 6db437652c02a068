import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Chat } from '@ai-sdk/react'
import { type ProviderSimulator, providerSimulator } from '@millrace/simulator'
import { DefaultChatTransport } from 'ai'
import { agent } from 'millrace'
import { client } from 'millrace/client'
import { serve } from 'millrace/server'
import { scriptedModel } from 'millrace/testing'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { plainEnv, run } from './processes.ts'
import { root } from './root.ts'
import { isWhole } from './size.ts'

// Installs Bun, Deno and workerd, so it runs by hand:
// TEST_SIZE=1 npx vitest run --project process test/runtimes.process.test.ts

let folder: string

const bin = (name: string) => join(folder, 'node_modules', '.bin', name)

interface Runtime {
  readonly name: string
  readonly command: () => readonly string[]
  /** Runs a file to its end; absent if the runtime cannot. */
  readonly script?: (file: string) => readonly string[]
}

const runtimes: readonly Runtime[] = [
  { name: 'Node', command: () => [process.execPath, 'node.ts'], script: (file) => [process.execPath, file] },
  { name: 'Bun', command: () => [bin('bun'), 'main.ts'], script: (file) => [bin('bun'), file] },
  {
    name: 'Deno',
    command: () => [bin('deno'), 'serve', '--allow-all', '--host', '127.0.0.1', '--port', '0', 'main.ts'],
    script: (file) => [bin('deno'), 'run', '--allow-all', file],
  },
  { name: 'workerd', command: () => [bin('workerd'), 'serve', '--control-fd=3', 'worker.capnp'] },
]

async function succeed(
  [command = '', ...args]: readonly string[],
  { cwd = folder, env = plainEnv() } = {},
): Promise<string> {
  const { exit, stdout, stderr } = await run(command, args, { cwd, env })
  expect(exit, `${args.join(' ')}: ${stderr}`).toBe(0)
  return stdout
}

/** The script of the provider: two rounds for a question, and an answer without an end. */
function answers({ body }: { readonly body?: unknown }) {
  const asked = JSON.stringify(body)
  if (asked.includes('Never end')) return [{ text: 'Once ' }, { hang: true as const }]
  if (asked.includes('function_call_output')) return 'It is 5.'
  return [{ text: 'Let me see. ' }, { call: 'add', input: { a: 2, b: 3 } }]
}

/** Resolves with the address that a process prints. */
async function addressOf(child: ChildProcess): Promise<string> {
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr, child.stdio[3] as Readable | null])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const [, printed, reported] = /(http:\/\/[\w.]+:\d+)|"port":(\d+)/.exec(output) ?? []
      if (printed ?? reported) resolve(printed ?? `http://127.0.0.1:${reported}`)
    })
  child.once('exit', () => reject(new Error(`it has exited: ${output}`)))
  return promise
}

describe.runIf(isWhole)('on other runtimes', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-runtimes-'))
    cpSync(join(root, 'test/runtimes'), folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
    const packed = await succeed(
      ['npm', 'pack', '--ignore-scripts', '--pack-destination', folder, '--workspace', 'packages/millrace'],
      { cwd: root },
    )
    const packages = [`./${packed.trim()}`, '@hono/node-server@2', 'bun@1', 'deno@2', 'workerd@1']
    // npm may be configured by the environment.
    const env = { ...process.env, NODE_OPTIONS: '' }
    await succeed(['npm', 'install', '--no-audit', '--no-fund', ...packages], { env })
    // As a deployment does: one file, with the modules of Node left out.
    const worker = await rolldown({
      input: join(folder, 'worker.ts'),
      platform: 'browser',
      external: [/^node:/],
      resolve: { conditionNames: ['workerd', 'worker', 'browser', 'module', 'import', 'default'] },
    })
    await worker.write({ file: join(folder, 'worker.js'), codeSplitting: false })
    await worker.close()
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  describe.each(runtimes)('$name', ({ command, script }) => {
    let url: string
    let provider: ProviderSimulator
    let child: ChildProcess
    let exited: Promise<unknown>

    beforeAll(async () => {
      provider = await providerSimulator(answers)
      const [program = '', ...args] = command()
      child = spawn(program, args, {
        cwd: folder,
        env: { ...plainEnv(), PROVIDER: provider.baseURL },
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      })
      exited = once(child, 'exit')
      url = await addressOf(child)
    })

    afterAll(async () => {
      child.kill('SIGKILL')
      await exited
      await provider.close()
    })

    const question = 'What is 2 + 3?'

    test('toResponse() streams the events of a run with a tool', async () => {
      const response = await fetch(new URL('/run', url), { method: 'POST', body: question })
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const text = await response.text()
      expect(text).toContain('"text":"It is 5."')
      expect(text).toMatch(/event: end\ndata: \{\}\n\n$/)
    })

    test.each(['/chat', '/api/chat'])('useChat shows the answer of %s', async (path) => {
      const chat = new Chat({ transport: new DefaultChatTransport({ api: new URL(path, url).href }) })
      await chat.sendMessage({ text: question })
      expect(chat.error).toBeUndefined()
      expect(chat.lastMessage?.parts).toMatchObject([
        { type: 'step-start' },
        { type: 'text', text: 'Let me see. ' },
        { type: 'dynamic-tool', toolName: 'add', state: 'output-available', output: 5 },
        { type: 'step-start' },
        { type: 'text', text: 'It is 5.' },
      ])
    })

    test('a client that hangs up cancels the run', async () => {
      const controller = new AbortController()
      const { signal } = controller
      const { body } = await fetch(new URL('/run', url), { method: 'POST', body: 'Never end.', signal })
      for await (const bytes of body ?? []) if (new TextDecoder().decode(bytes).includes('Once ')) break
      controller.abort()
      await provider.idle()
    })

    test('serve() has threads that are followed over server-sent events', async () => {
      const thread = await client(url, { transport: 'sse' }).create()
      const seq = await thread.send(question)
      for await (const _ of thread.follow({ until: seq }));
      expect((await thread.state()).messages).toHaveLength(4)
    })

    test('serve() has a page, and says that it is ready', async () => {
      expect(await (await fetch(new URL('/readyz', url))).json()).toMatchObject({ status: 'ready' })
      for (const encoding of ['gzip', 'identity']) {
        const response = await fetch(url, { headers: { 'accept-encoding': encoding } })
        expect(await response.text()).toMatch(/^<!doctype html>/)
      }
    })

    test.each(['sse', 'websocket'])('the client asks a server over %s', async (transport) => {
      const app = serve({ agents: { greeter: agent({ model: scriptedModel(() => 'Hello.') }) } })
      onTestFinished(() => app.close())
      const { url: server } = await app.listen()
      const asked = new URL(`/ask?${new URLSearchParams({ transport, server })}`, url)
      expect(await (await fetch(asked)).text()).toBe('Hello.')
    })

    test.runIf(script)('listen(), WebSockets and SQLite', async () => {
      expect(await succeed(script?.('listen.ts') ?? [])).toBe('sse Hello.\nwebsocket Hello.\n')
    })
  })
})
