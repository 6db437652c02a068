import { join } from 'node:path'
import { mcp } from '@millrace/tools/mcp'
import { describe, expect, onTestFinished, test } from 'vitest'
import { some } from '../../../../test/size.ts'
import type { StdioTarget } from '../../../tools/src/mcp-server/mcp-clients.test-kit.ts'
import { clients, textOf } from '../../../tools/src/mcp-server/mcp-clients.test-kit.ts'
import { agent } from '../agent/index.ts'
import { sqliteStore } from '../log/sqlite.ts'
import { until } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Home } from './cli.test-kit.ts'
import { built, linesOf, main, makeHome } from './cli.test-kit.ts'

const agentsFile = `
  import { agent, tool } from ${JSON.stringify(built('index'))}
  import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
  console.log('agents are loaded')
  process.stdout.write('and more output\\n')
  const cut = tool({
    name: 'cut_rope',
    description: 'Cuts the rope',
    input: { jsonSchema: { type: 'object' } },
    approve: true,
    run: () => 'cut',
  })
  export default {
    desk: agent({
      name: 'desk',
      model: scriptedModel(({ messages }) => {
        console.log('asked')
        return 'Answer ' + messages.filter(({ role }) => role === 'user').length + '.'
      }),
    }),
    muser: agent({ name: 'muser', model: scriptedModel(() => [{ text: 'Hm.' }, { hang: true }]) }),
    asker: agent({
      name: 'asker',
      tools: [cut],
      model: scriptedModel(({ messages }) =>
        messages.at(-1).role === 'tool' ? 'It is cut.' : [{ call: 'cut_rope', input: {} }],
      ),
    }),
  }
`

function homeWithAgents(): Home {
  const home = makeHome()
  home.write('agents.ts', agentsFile)
  return home
}

/** How an MCP client starts it. */
function commandIn({ folder, env }: Home): StdioTarget {
  return {
    command: process.execPath,
    args: [main, 'mcp', join(folder, 'agents.ts')],
    env: { PATH: env.PATH ?? '', HOME: folder },
  }
}

async function logOf({ folder }: Home) {
  const store = sqliteStore(join(folder, '.local', 'share', 'millrace', 'threads.db'))
  try {
    const [info] = (await store.list({ limit: 1 })).threads
    return info ? (await store.read(info.id, { after: 0, limit: 100 })).map(({ event }) => event) : []
  } finally {
    await store.close()
  }
}

describe.each(some(clients))('%s starts millrace mcp', (_, connect) => {
  test('and calls its agents, whatever they print, across processes', async () => {
    const home = homeWithAgents()
    const first = await connect(commandIn(home))
    expect((await first.tools()).map(({ name }) => name)).toEqual(['desk', 'muser', 'asker'])
    const answer = await first.call('desk', { prompt: 'Hi' })
    expect(textOf(answer)).toBe('Answer 1.')
    await first.close()
    const second = await connect(commandIn(home))
    const { thread } = answer.structuredContent ?? {}
    expect(textOf(await second.call('desk', { prompt: 'And?', thread }))).toBe('Answer 2.')
  })

  test('and asks its user for approval', async () => {
    const client = await connect(commandIn(homeWithAgents()), { user: () => 'accept' })
    expect(textOf(await client.call('asker', { prompt: 'Cut it.' }))).toBe('It is cut.')
  })

  test('and cancels: the run is stopped', async () => {
    const home = homeWithAgents()
    const client = await connect(commandIn(home))
    const cancel = new AbortController()
    const progress: string[] = []
    const call = client.call(
      'muser',
      { prompt: 'Think.' },
      { signal: cancel.signal, onProgress: (message) => progress.push(message) },
    )
    const rejected = expect(call).rejects.toThrow()
    await until(() => progress.includes('Hm.'))
    cancel.abort()
    await rejected
    await until(async () => (await logOf(home)).at(-1)?.type === 'run-end')
    expect((await logOf(home)).at(-1)).toMatchObject({ outcome: 'canceled' })
    expect((await client.tools()).length).toBe(3)
  })
})

test('with our own client, an agent can use an agent of another process as a tool', async () => {
  const home = homeWithAgents()
  const desk = await mcp(commandIn(home))
  onTestFinished(() => desk.close())
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'They say so.' : [{ call: 'desk', input: { prompt: 'Hi' } }],
  )
  const { text, messages } = await agent({ name: 'boss', model, tools: [desk] }).run('Ask the desk.')
  expect(text).toBe('They say so.')
  expect(JSON.stringify(messages[2])).toContain('Answer 1.')
})

describe.concurrent('millrace mcp', () => {
  const request = (id: number, method: string, params: object) =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
  const hello = request(1, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  })
  const think = request(2, 'tools/call', {
    name: 'muser',
    arguments: { prompt: 'Think.' },
    _meta: { progressToken: 1 },
  })

  test('ends when stdin is closed, and stops its runs', async () => {
    const home = homeWithAgents()
    const { child, see, ended } = home.start(['mcp', 'agents.ts'], { stdin: 'pipe' })
    child.stdin?.write(hello + think)
    await see('Hm.')
    child.stdin?.end()
    const { exit, stdout, stderr } = await ended
    expect(exit).toBe(0)
    for (const line of linesOf(stdout)) expect(line).toMatchObject({ jsonrpc: '2.0' })
    expect(stderr).toMatch(
      /^agents are loaded\nand more output\nagents: desk, muser, asker; threads are stored in /,
    )
    expect((await logOf(home)).map(({ type }) => type)).toContain('stop')
  })

  // Checked on the wire: the official clients drop progress that arrives together with the answer.
  test('sends all progress before the answer', async () => {
    const { child, see, ended } = homeWithAgents().start(['mcp', 'agents.ts'], { stdin: 'pipe' })
    const call = { name: 'desk', arguments: { prompt: 'Hi' }, _meta: { progressToken: 1 } }
    child.stdin?.write(hello + request(3, 'tools/call', call))
    await see('"id":3')
    child.stdin?.end()
    const lines = linesOf((await ended).stdout)
    expect(lines.at(-2)).toMatchObject({
      method: 'notifications/progress',
      params: { progressToken: 1, message: 'Answer 1.' },
    })
    expect(lines.at(-1)).toMatchObject({ id: 3 })
    expect(JSON.stringify(lines.at(-1))).toContain('Answer 1.')
  })

  test('ends on SIGTERM even before its agents are loaded', async () => {
    const home = makeHome()
    home.write(
      'agents.ts',
      `console.error('loading'); await new Promise((done) => setTimeout(done, 1000))\n${agentsFile}`,
    )
    const { child, see, ended } = home.start(['mcp', 'agents.ts'], { stdin: 'pipe' })
    await see('loading')
    child.kill('SIGTERM')
    await ended
    expect(child.signalCode ?? child.exitCode).toBe('SIGTERM')
  })

  test('on SIGTERM it answers pending requests with an error, and leaves the run to the next process', async () => {
    const home = homeWithAgents()
    const { child, see, ended } = home.start(['mcp', 'agents.ts'], { stdin: 'pipe' })
    child.stdin?.write(hello + think)
    await see('Hm.')
    child.kill('SIGTERM')
    const { exit, stdout } = await ended
    expect(exit).toBe(0)
    expect(linesOf(stdout).at(-1)).toMatchObject({ id: 2, result: { isError: true } })
    expect(stdout).toContain('The server is shutting down')
    expect((await logOf(home)).map(({ type }) => type)).not.toContain('stop')
  })

  test.each([
    [['nowhere.ts'], /^millrace: mcp: file not found: nowhere\.ts/],
    [['agents.ts', '--system', 'x'], /--system cannot be combined with an agents file/],
    [['agents.ts', '--port', '1'], /--port only works with 'millrace serve'/],
  ])('%j is rejected', async (args, message) => {
    const { exit, stdout, stderr } = await homeWithAgents().run(['mcp', ...args])
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test('has help', async () => {
    const { stdout } = await makeHome().run(['help', 'mcp'])
    expect(stdout).toMatch(/^millrace mcp \[agents\.ts\] +Serve agents as MCP tools over stdin and stdout\n/)
    expect(stdout).toContain('--data FILE')
    expect(stdout).not.toContain('--port')
  })
})
