import { describe, expect, test } from 'vitest'
import { connectV1, textOf } from '../../../tools/src/mcp-server/mcp-clients.test-kit.ts'
import type { Home } from './cli.test-kit.ts'
import { built, homeWith, linesOf, makeHome } from './cli.test-kit.ts'

const agentsFile = `
  import { agent } from ${JSON.stringify(built('index'))}
  import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
  const saying = (text: string) => scriptedModel(() => text)
  export default {
    desk: agent({ name: 'desk', model: saying('The desk is open.') }),
    night: agent({ name: 'night', model: scriptedModel(() => [{ text: 'Good ' }, { hang: true }]) }),
  }
`

async function serving(home: Home, args: readonly string[] = [], env = {}) {
  const server = home.start(['serve', ...args, '--port', '0'], { env })
  await server.see(/listening at http:\S+\n/)
  const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
  return { ...server, url }
}

const post = (url: string, body: object, headers = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

// Not concurrent: the client is closed when the running test ends, whichever that is.
test('millrace serve --mcp also serves the agents as MCP tools', async () => {
  const home = makeHome()
  home.write('agents.ts', agentsFile)
  const { url, child, ended } = await serving(home, ['agents.ts', '--mcp'])
  const mcp = await connectV1(`${url}/mcp`)
  expect(textOf(await mcp.call('desk', { prompt: 'hi' }))).toBe('The desk is open.')
  child.kill('SIGINT')
  expect((await ended).stderr).toContain(`MCP clients connect to ${url}/mcp\n`)
})

describe.concurrent('millrace serve', () => {
  test('--a2a also serves the agents to A2A clients', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { url, child, ended } = await serving(home, ['agents.ts', '--a2a'])
    const card = await fetch(`${url}/a2a/night/.well-known/agent-card.json`)
    expect(await card.json()).toMatchObject({
      name: 'night',
      supportedInterfaces: [{ url: `${url}/a2a/night` }],
    })
    child.kill('SIGINT')
    expect((await ended).stderr).toContain(`A2A clients connect to ${url}/a2a\n`)
  })

  test('serves the agents of a file, and shuts down cleanly', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { url, child, ended } = await serving(home, ['agents.ts'])
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ status: 'ok' })
    expect((await fetch(url)).headers.get('content-type')).toMatch('text/html')
    expect((await post(`${url}/threads`, { id: 'mine' })).status).toBe(201)
    const answer = await post(
      `${url}/threads/mine/messages`,
      { message: 'hi' },
      { accept: 'text/event-stream' },
    )
    expect(await answer.text()).toContain('The desk is open.')
    child.kill('SIGTERM')
    const { exit, stdout, stderr } = await ended
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: `listening at ${url}\n` })
    expect(stderr.split('\n')).toEqual([
      `open ${url}/ to chat with the agents and inspect their runs`,
      expect.stringMatching(/^agents: desk, night; threads are stored in /),
      `OpenAI-compatible clients connect to ${url}/v1, Anthropic clients to ${url}`,
      `AG-UI clients connect to ${url}/ag-ui/desk`,
      expect.stringMatching(/^no token set: anyone on this machine can use it/),
      expect.stringMatching(/^waiting for running tools/),
      '',
    ])
  })

  test('without a file, serves one agent configured by the flags', async () => {
    const home = await homeWith(['Ahoy.'])
    const { url, child, ended } = await serving(home, ['--system', 'You are a pirate.'])
    await post(`${url}/threads`, { id: 'mine' })
    const answer = await post(
      `${url}/threads/mine/messages`,
      { message: 'hi' },
      { accept: 'text/event-stream' },
    )
    expect(await answer.text()).toContain('Ahoy.')
    expect(home.simulator.requests[0]?.body).toMatchObject({
      messages: [{ content: 'You are a pirate.' }, {}],
    })
    child.kill('SIGINT')
    expect((await ended).exit).toBe(0)
  })

  test('requires the token, if one is set', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { url, child, ended } = await serving(home, ['agents.ts'], { MILLRACE_TOKEN: 's3cret' })
    const status = async (authorization?: string) =>
      (await fetch(`${url}/threads`, { headers: authorization ? { authorization } : {} })).status
    expect(await status()).toBe(401)
    expect(await status('Bearer wrong')).toBe(401)
    expect(await status('Bearer s3cret')).toBe(200)
    const keyed = async (headers: Record<string, string>) =>
      (await fetch(`${url}/threads`, { headers })).status
    expect(await keyed({ 'x-api-key': 'wrong' })).toBe(401)
    expect(await keyed({ 'x-api-key': 's3cret' })).toBe(200)
    expect(await keyed({ 'x-api-key': 's3cret', authorization: 'Bearer another' })).toBe(200)
    child.kill('SIGINT')
    expect((await ended).stderr).not.toContain('s3cret')
  })

  test('prints a URL that can be opened, even if it listens on all addresses', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { url, child, ended } = await serving(home, ['agents.ts', '--host', '0.0.0.0', '--token', 's3cret'])
    child.kill('SIGINT')
    expect((await ended).stderr).toContain(`open http://127.0.0.1:${new URL(url).port}/ to chat`)
  })

  test('answers questions from the command line, through the shared database file', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { url, child, ended } = await serving(home, ['agents.ts'])
    await post(`${url}/threads`, { id: 'mine' })
    expect(await home.run(['hi there', '--thread', 'mine'])).toEqual({
      exit: 0,
      stdout: 'The desk is open.\n',
      stderr: '',
    })
    expect(await home.run(['hi there', '--thread', 'mine', '--system', 'x'])).toMatchObject({
      exit: 2,
      stderr:
        "millrace: --system has no effect: thread 'mine' belongs to the agent 'desk', which is configured by its server\n",
    })
    child.kill('SIGINT')
    await ended
  })

  test('stops a thread from the command line', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { url, child, ended } = await serving(home, ['agents.ts'])
    await post(`${url}/threads`, { id: 'mine', agent: 'night' })
    const asking = home.start(['hi there', '--thread', 'mine', '--json'])
    await asking.see('Good ')
    asking.child.kill('SIGINT')
    const { exit, stdout } = await asking.ended
    expect(linesOf(stdout).at(-1)).toMatchObject({ result: { outcome: 'canceled', text: 'Good ' } })
    expect(exit).toBe(130)
    child.kill('SIGINT')
    await ended
  })

  test('a question for an agent that is not running waits for its server, and says so', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const first = await serving(home, ['agents.ts'])
    await post(`${first.url}/threads`, { id: 'mine' })
    first.child.kill('SIGINT')
    await first.ended
    const asking = home.start(['hi there', '--thread', 'mine'])
    await asking.see("waiting for the agent 'desk': no process is running it. Is its server running?")
    const second = await serving(home, ['agents.ts'])
    expect(await asking.ended).toMatchObject({ exit: 0, stdout: 'The desk is open.\n' })
    second.child.kill('SIGINT')
    await second.ended
  })

  test.each([
    [
      ['--host', '0.0.0.0'],
      /--host 0\.0\.0\.0 can be reached from other machines: set --token or MILLRACE_TOKEN/,
    ],
    [['--port', 'http'], /--port must be a number from 0 to 65535, not 'http'/],
    [['--system', 'x'], /--system cannot be combined with an agents file: set it in agents\.ts/],
  ])('%j is rejected', async (args, message) => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { exit, stderr } = await home.run(['serve', 'agents.ts', ...args])
    expect(stderr).toMatch(message)
    expect(exit).toBe(2)
  })

  test('a port in use is reported', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const { url, child, ended } = await serving(home, ['agents.ts'])
    const { port } = new URL(url)
    expect(await home.run(['serve', 'agents.ts', '--port', port])).toMatchObject({
      exit: 1,
      stderr: `millrace: 127.0.0.1:${port} is already in use: choose another with --port (0 picks a free one) or --host\n`,
    })
    child.kill('SIGINT')
    await ended
  })
})
