import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Thread } from 'millrace'
import { client } from 'millrace/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fixedPort } from '../../../test/survival/server-process.ts'
import { callerApp, protocols } from './remote-caller.test-kit.ts'

// Agents of our own server as tools, whose calls are tasks there (MCP of 2026-07-28, A2A), in processes
// that are killed.

const program = (name: string) => fileURLToPath(new URL(`./${name}.test-kit.ts`, import.meta.url))

function start(name: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, ['--conditions=@millrace/source', program(name), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin?.on('error', () => {})
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function kill(child: ChildProcess) {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

const line = async ({ stdout }: ChildProcess) =>
  String((await once(stdout as NodeJS.ReadableStream, 'data'))[0])

describe.each(Object.keys(protocols))('%s', (protocol) => {
  /** A server with agents, and the file of those who call them. */
  async function world() {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-remote-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const port = await fixedPort()
    const args = [join(folder, 'server.db'), `${port}`]
    let server = start('remote-agents', args)
    const url = (await line(server)).trim()
    const callerArgs = (name: string) => [protocol, join(folder, 'client.db'), url, name]
    return {
      callerArgs,
      async caller(name: string) {
        const { thread, hasTask, close } = await callerApp(callerArgs(name))
        onTestFinished(close)
        /** Until the id of the task is in the log. */
        const untilTask = async () => {
          for await (const entry of thread.follow()) if (hasTask(entry)) return
        }
        return { thread, untilTask }
      },
      /** How the threads at the server ended. */
      outcomes: async () => (await client(url).threads()).threads.map(({ outcome }) => outcome),
      async restart() {
        await kill(server)
        server = start('remote-agents', args)
        await line(server)
      },
    }
  }

  async function resultOf(thread: Thread) {
    for await (const _ of thread.follow({ until: 'idle' }));
    const entries = await thread.read()
    const results = entries.flatMap(({ event }) => (event.type === 'tool-result' ? [event] : []))
    return results.map(({ status, output: [part] }) => [status, part?.type === 'text' ? part.text : ''])
  }

  test('a call that takes long becomes a task', async () => {
    const { caller, outcomes } = await world()
    const { thread, untilTask } = await caller('slow')
    await thread.send('Go.')
    await untilTask()
    expect(await resultOf(thread)).toEqual([['ok', 'Well. That took long.']])
    expect(await outcomes()).toEqual(['completed'])
  })

  test('a task survives kill -9 of the server', async () => {
    const { caller, outcomes, restart } = await world()
    const { thread, untilTask } = await caller('slow')
    await thread.send('Go.')
    await untilTask()
    await restart()
    expect(await resultOf(thread)).toEqual([['ok', expect.stringContaining('That took long.')]])
    expect(await outcomes()).toEqual(['completed'])
  })

  test('a task survives kill -9 of the client, which does not call again', async () => {
    const { callerArgs, caller, outcomes } = await world()
    const child = start('remote-caller', callerArgs('slow'))
    expect(await line(child)).toMatch(/^task\n/)
    await kill(child)
    const { thread } = await caller('slow')
    expect(await resultOf(thread)).toEqual([['ok', expect.stringContaining('That took long.')]])
    expect(await outcomes()).toEqual(['completed'])
  })

  test('stopping the thread cancels the task', async () => {
    const { caller, outcomes } = await world()
    const { thread, untilTask } = await caller('slow')
    await thread.send('Go.')
    await untilTask()
    await thread.stop()
    await expect.poll(outcomes).toEqual(['canceled'])
  })

  test('stopping a thread that waits cancels the task', async () => {
    const { caller, outcomes } = await world()
    const { thread } = await caller('payer')
    await thread.send('Go.')
    for await (const _ of thread.follow({ until: 'idle' }));
    await thread.stop()
    await expect.poll(outcomes).toEqual(['canceled'])
  })

  test.each([
    [true, 'It is paid.'],
    [false, 'Nothing was paid.'],
  ])('an approval inside the task is asked here: %s', async (approved, text) => {
    const { caller, restart } = await world()
    const { thread } = await caller('payer')
    await thread.send('Go.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const [request] = (await thread.state()).approvals
    expect(request).toMatchObject({ callId: expect.stringMatching(/^call_1\//), input: {} })
    expect(JSON.stringify(request)).toMatch(/\bpay\b/)
    await restart()
    await thread.approve(request?.callId ?? '', { approved })
    expect(await resultOf(thread)).toEqual([['ok', text]])
  })
})
