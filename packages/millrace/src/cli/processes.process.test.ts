import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { client } from '../client/index.ts'
import type { Home } from './cli.test-kit.ts'
import { built, hasTerminals, makeHome, openTerminal } from './cli.test-kit.ts'

/**
 * `who` answers with its process id, `slow` stops in the middle until there is a file `answer`, and
 * the tool of `busy` takes until there is a file `done`.
 */
const agentsFile = `
  import { appendFileSync, existsSync } from 'node:fs'
  import { setTimeout } from 'node:timers/promises'
  import { agent, tool } from ${JSON.stringify(built('index'))}
  import { script, scriptedModel } from ${JSON.stringify(built('testing/index'))}
  const work = tool({
    name: 'work',
    description: 'Works',
    input: { jsonSchema: { type: 'object' } },
    async run() {
      appendFileSync('work.txt', 'started\\n')
      while (!existsSync('done')) await setTimeout(10)
      appendFileSync('work.txt', 'finished\\n')
      return 'worked'
    },
  })
  const slow = () => existsSync('answer') ? 'Good morning to all.' : [{ text: 'Good ' }, { hang: true }]
  const busy = ({ messages }) => script.tool('work', {}, 'Done.')[messages.at(-1).role === 'tool' ? 1 : 0]
  export default {
    who: agent({ name: 'who', model: scriptedModel(() => String(process.pid)) }),
    slow: agent({ name: 'slow', model: scriptedModel(slow) }),
    busy: agent({ name: 'busy', model: scriptedModel(busy), tools: [work] }),
  }
`

async function serving(home: Home, args: readonly string[] = ['--processes', '2']) {
  const server = home.start(['serve', 'agents.ts', '--port', '0', ...args])
  onTestFinished(() => void server.child.kill('SIGKILL'))
  await server.see(/no token set/)
  const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
  return { ...server, url, pids: pidsAt(url), threads: client(url) }
}

function pidsAt(url: string) {
  /** The id of a process that answered; undefined if it died while it did. */
  async function pid(): Promise<number | undefined> {
    const headers = {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      // Any process may get the next connection.
      connection: 'close',
    }
    const id = crypto.randomUUID()
    const post = (path: string, body: object) =>
      fetch(`${url}/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    try {
      await (await post('threads', { id, agent: 'who' })).text()
      const answer = await (await post(`threads/${id}/messages`, { message: 'hi' })).text()
      const [, found] = /"type":"text","text":"(\d+)"/.exec(answer) ?? []
      return found === undefined ? undefined : Number(found)
    } catch {
      return undefined
    }
  }

  /** Waits until this many processes have answered that are not among those before. */
  return async function pids(count: number, before: readonly number[] = []): Promise<number[]> {
    const found = new Set<number>()
    await expect
      .poll(
        async () => {
          for (const one of await Promise.all([pid(), pid(), pid()]))
            if (one !== undefined && !before.includes(one)) found.add(one)
          return found.size
        },
        // Asking is work, and slows down the start of a process.
        { interval: 300 },
      )
      .toBe(count)
    return [...found]
  }
}

function homeWithAgents(): Home {
  const home = makeHome()
  home.write('agents.ts', agentsFile)
  return home
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('millrace serve --processes', () => {
  test('shares one port, and clients of one process get what another writes', async () => {
    const server = await serving(homeWithAgents())
    await server.pids(2)
    const thread = await server.threads.create({ agent: 'who' })
    const follower = server.threads.thread(thread.id)
    const answered = new Set<string>()
    const following = (async () => {
      for await (const { event } of follower.follow()) {
        if (event.type === 'text') answered.add(event.text)
        if (answered.size === 2) return
      }
    })()
    // Each message is sent over another connection, until both processes have answered.
    await expect
      .poll(async () => {
        await fetch(`${server.url}/threads/${thread.id}/messages`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', connection: 'close' },
          body: JSON.stringify({ message: 'hi' }),
        })
        return answered.size
      })
      .toBe(2)
    await following
    server.child.kill('SIGTERM')
    const { exit, stdout, stderr } = await server.ended
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: `listening at ${server.url}\n` })
    expect(stderr.split('\n')).toEqual([
      `open ${server.url}/ to chat with the agents and inspect their runs`,
      expect.stringMatching(/^agents: who, slow, busy; threads are stored in /),
      expect.stringMatching(/^OpenAI-compatible clients connect to /),
      expect.stringMatching(/^AG-UI clients connect to /),
      expect.stringMatching(/^no token set/),
      expect.stringMatching(/^waiting for running tools/),
      '',
    ])
  })

  test('replaces a process that was killed, on the same port', async () => {
    const server = await serving(homeWithAgents())
    const before = await server.pids(2)
    const [first, second] = before as [number, number]
    process.kill(first, 'SIGKILL')
    await server.see(`process ${first} ended with SIGKILL; starting another`)
    await server.pids(1, before)
    process.kill(second, 'SIGTERM')
    await server.see(`process ${second} ended with exit code 0; starting another`)
    const after = await server.pids(2, before)
    for (const pid of after) process.kill(pid, 'SIGKILL')
    await server.pids(2, [...before, ...after])
  })

  test('SIGHUP replaces all processes, and a stream continues in a new one', async () => {
    const home = homeWithAgents()
    const server = await serving(home)
    const before = await server.pids(2)
    const thread = await server.threads.create({ agent: 'slow' })
    const seq = await thread.send('Hello')
    const seen: number[] = []
    for await (const { seq: number, from = number, event } of thread.follow({ until: seq })) {
      expect(from).toBe((seen.at(-1) ?? 0) + 1)
      seen.push(number)
      if (event.type === 'text' && event.text === 'Good ') {
        home.write('answer', '')
        server.child.kill('SIGHUP')
      }
    }
    expect((await thread.state()).messages.at(-1)).toMatchObject({
      content: [{ type: 'text', text: 'Good morning to all.' }],
    })
    await server.see(/^reloaded$/m)
    await server.pids(2, before)
    for (const pid of before) await expect.poll(() => isAlive(pid)).toBe(false)
    expect(server.stderr().match(/no token set/g)).toHaveLength(1)
  })

  test('a reload that fails says why, and leaves the old processes alone', async () => {
    const home = homeWithAgents()
    const server = await serving(home)
    const before = await server.pids(2)
    home.write('agents.ts', 'export default 7')
    server.child.kill('SIGHUP')
    await server.see('reload failed: a new process could not start; those that run are not affected')
    expect(server.stderr().match(/the default export of agents\.ts must be an agent/g)).toHaveLength(1)
    expect((await server.pids(2)).sort()).toEqual(before.sort())
    home.write('agents.ts', agentsFile)
    server.child.kill('SIGHUP')
    await server.see(/^reloaded$/m)
    await server.pids(2, before)
  })

  test('SIGTERM lets running tools finish', async () => {
    const home = homeWithAgents()
    const server = await serving(home)
    const before = await server.pids(2)
    const thread = await server.threads.create({ agent: 'busy' })
    await thread.send('Work')
    for await (const { event } of thread.follow()) if (event.type === 'tool-start') break
    server.child.kill('SIGTERM')
    await server.see('waiting for running tools')
    home.write('done', '')
    expect(await server.ended).toMatchObject({ exit: 0 })
    expect(readFileSync(join(home.folder, 'work.txt'), 'utf8')).toBe('started\nfinished\n')
    for (const pid of before) expect(isAlive(pid)).toBe(false)
    const again = await serving(home)
    const after = again.threads.thread(thread.id)
    const [input] = await after.read({ after: 0, limit: 1 })
    const results: string[] = []
    for await (const { event } of after.follow({ until: input?.seq ?? 1 }))
      if (event.type === 'tool-start' || event.type === 'tool-result') results.push(event.type)
    expect(results).toEqual(['tool-start', 'tool-result'])
  })

  test('a second signal ends all processes at once', async () => {
    const server = await serving(homeWithAgents())
    const before = await server.pids(2)
    const thread = await server.threads.create({ agent: 'busy' })
    await thread.send('Work')
    for await (const { event } of thread.follow()) if (event.type === 'tool-start') break
    server.child.kill('SIGTERM')
    await server.see('waiting for running tools')
    server.child.kill('SIGTERM')
    expect(await server.ended).toMatchObject({ exit: 143 })
    for (const pid of before) await expect.poll(() => isAlive(pid)).toBe(false)
  })

  test.runIf(hasTerminals)('all processes end when the terminal is closed', async () => {
    const terminal = openTerminal(homeWithAgents(), ['serve', 'agents.ts', '--port', '0', '--processes', '2'])
    await terminal.see(/no token set/)
    const [, url = ''] = /listening at (\S+)/.exec(terminal.output()) ?? []
    await pidsAt(url)(2)
    terminal.close()
    const answer = () =>
      fetch(`${url}/healthz`).then(
        ({ status }) => status,
        () => 'refused',
      )
    await expect.poll(answer).toBe('refused')
  })

  test('the processes end if the one that supervises them is killed', async () => {
    const server = await serving(homeWithAgents())
    const before = await server.pids(2)
    server.child.kill('SIGKILL')
    for (const pid of before) await expect.poll(() => isAlive(pid)).toBe(false)
  })

  test('an error at the start is reported once', async () => {
    const home = homeWithAgents()
    expect(await home.run(['serve', 'nope.ts', '--processes', '3'])).toEqual({
      exit: 2,
      stdout: '',
      stderr: 'millrace: serve: file not found: nope.ts\n',
    })
    const server = await serving(home, ['--processes', '1'])
    const { port } = new URL(server.url)
    expect(await home.run(['serve', 'agents.ts', '--processes', '3', '--port', port])).toEqual({
      exit: 1,
      stdout: '',
      stderr: `millrace: 127.0.0.1:${port} is already in use: choose another with --port (0 picks a free one) or --host\n`,
    })
    expect(await home.run(['serve', 'agents.ts', '--processes', 'many'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('--processes must be auto or a whole number'),
    })
  })
})
