import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { McpServer } from '@agentclientprotocol/sdk'
import { describe, expect, onTestFinished, test } from 'vitest'
import { editorOver } from '../../../tools/src/acp/editor.test-kit.ts'
import { isAlive, kitServer } from '../../../tools/src/mcp/kit.test-kit.ts'
import type { Home } from './cli.test-kit.ts'
import { built, linesOf, main, makeHome } from './cli.test-kit.ts'

const agentsFile = `
  import { appendFileSync } from 'node:fs'
  import { agent, tool } from ${JSON.stringify(built('index'))}
  import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
  import { files, permission } from ${JSON.stringify(built('index', '@millrace/tools').replace('@millrace/', ''))}
  console.log('agents are loaded')
  process.stdout.write('and more output\\n')
  const ring = tool({
    name: 'ring',
    description: 'Rings the bell',
    input: { jsonSchema: { type: 'object' } },
    approve: true,
    run() {
      appendFileSync('rung', 'x')
      return 'rung'
    },
  })
  export default agent({
    name: 'coder',
    tools: [ring, files({ workspace: '.' })],
    permission: permission({ allow: ['read', 'ring', 'kit_*', 'lost_*', 'far_*'] }),
    model: scriptedModel(({ messages, tools }) => {
      const last = messages.at(-1)
      const asked = JSON.stringify(messages.findLast(({ role }) => role === 'user').content)
      if (last.role === 'tool') return 'Result: ' + JSON.stringify(last.content)
      const [, name, input] = /call (\\w+) ?(.*)"/.exec(asked) ?? []
      if (name) return [{ text: 'Calling. ' }, { call: name, input: JSON.parse(input.replaceAll('\\\\', '') || '{}') }]
      if (asked.includes('tools')) return tools.map(({ name }) => name).join(' ')
      if (asked.includes('wait')) return [{ text: 'Waiting.' }, { hang: true }]
      return 'Message ' + messages.length + '.'
    }),
  })
`

function homeWithAgents(): Home {
  const home = makeHome()
  home.write('agents.ts', agentsFile)
  return home
}

/** An editor that has started the command. */
function startEditor({ folder, env }: Home) {
  const child = spawn(process.execPath, [main, 'acp', 'agents.ts'], { cwd: folder, env })
  child.stdin.on('error', () => {})
  const exited = once(child, 'exit')
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.on('data', (data) => {
    stderr += data
  })
  return {
    ...editorOver({ input: child.stdout, output: child.stdin }, { cwd: folder }),
    stderr: () => stderr,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async end() {
      child.stdin.end()
      return (await exited)[0]
    },
  }
}

describe('millrace acp', () => {
  test('serves the agents to the editor that started it, until that closes stdin', async () => {
    const home = homeWithAgents()
    const one = startEditor(home)
    const id = await one.open()
    expect(await one.prompt(id, 'Hi.')).toEqual({ stopReason: 'end_turn' })
    expect(one.text()).toBe('Message 1.')
    expect(one.stderr()).toContain('agents are loaded\nand more output\n')
    expect(await one.end()).toBe(0)
    // The session is a thread that the other commands know.
    const { stdout } = await home.run(['show', id])
    expect(stdout).toContain('Message 1.')
  })

  test('prints nothing but the protocol on stdout', async () => {
    const home = homeWithAgents()
    const { child, see, ended } = home.start(['acp', 'agents.ts'], { stdin: 'pipe' })
    const params = { protocolVersion: 1, clientCapabilities: {} }
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
    child.stdin?.write('this is no JSON\n')
    await see('agentCapabilities')
    await see('-32700')
    child.kill('SIGINT')
    const { exit, stdout } = await ended
    expect(exit).toBe(0)
    const lines = linesOf(stdout)
    expect(lines.find(({ id }) => id === 1)).toMatchObject({ result: { protocolVersion: 1 } })
    expect(lines.find(({ id }) => id === null)).toMatchObject({ error: { code: -32700 } })
  })

  test('asks again after kill -9, and runs the call once', async () => {
    const home = homeWithAgents()
    const one = startEditor(home)
    const id = await one.open()
    one.prompt(id, 'call ring').catch(() => {})
    await one.asked()
    await one.kill()
    const other = startEditor(home)
    await other.initialize()
    await other.load(id)
    expect(other.text('user_message_chunk')).toBe('call ring')
    const { choose } = await other.asked()
    choose('allow')
    await expect.poll(() => other.text()).toContain('Result: [{"type":"text","text":"rung"}]')
    expect(readFileSync(join(home.folder, 'rung'), 'utf8')).toBe('x')
    expect(await other.end()).toBe(0)
  })

  test('shows the diff of a file, and its absolute path', async () => {
    const home = homeWithAgents()
    home.write('a.txt', 'one\n')
    const one = startEditor(home)
    const id = await one.open()
    const answer = one.prompt(id, 'call write_file {"path":"a.txt","content":"two"}')
    const { toolCall, choose } = await one.asked()
    const path = join(home.folder, 'a.txt')
    expect(toolCall).toMatchObject({
      kind: 'edit',
      locations: [{ path }],
      content: [{ type: 'content' }, { type: 'diff', path, newText: 'two' }],
    })
    choose('allow')
    expect(await answer).toEqual({ stopReason: 'end_turn' })
    expect(readFileSync(path, 'utf8')).toBe('two')
  })
})

describe('MCP servers of the editor', () => {
  test('are tools of this session, and one that fails is a notice', async () => {
    const far = await kitServer('new-http')
    onTestFinished(() => far.stop())
    const servers: McpServer[] = [
      stdioServer('kit'),
      { type: 'http', name: 'far', url: String((far.options as { url: string }).url), headers: [] },
      { name: 'lost', command: join('/', 'no', 'such', 'program'), args: [], env: [] },
    ]
    const one = startEditor(homeWithAgents())
    const id = await one.open(servers)
    const plain = await one.open()
    await one.prompt(id, 'which tools?')
    expect(one.text()).toMatch(/kit_\w+.*far_\w+/)
    expect(one.text()).toContain("The MCP server 'lost' cannot be used")
    one.updates.length = 0
    await one.prompt(plain, 'which tools?')
    expect(one.text()).not.toContain('kit_')
  })

  test('end with the session', async () => {
    const one = startEditor(homeWithAgents())
    const id = await one.open([stdioServer('kit')])
    expect(await one.prompt(id, 'call kit_seen')).toEqual({ stopReason: 'end_turn' })
    const pid = Number(/"pid\D+(\d+)/.exec(one.text().replaceAll('\\', ''))?.[1])
    expect(isAlive(pid)).toBe(true)
    await one.agent.request('session/close', { sessionId: id })
    await expect.poll(() => isAlive(pid)).toBe(false)
  })
})

function stdioServer(name: string): McpServer {
  const program = fileURLToPath(new URL('../../../tools/src/mcp/new-server.test-kit.ts', import.meta.url))
  return { name, command: process.execPath, args: [program, 'stdio'], env: [] }
}

describe('acpx', () => {
  const acpx = fileURLToPath(new URL('../../../../node_modules/acpx/dist/cli.js', import.meta.url))

  /** Runs the real command against `millrace acp`. */
  async function runAcpx({ folder, env }: Home, ...args: string[]) {
    const agent = [process.execPath, main, 'acp', join(folder, 'agents.ts')].join(' ')
    const child = spawn(process.execPath, [acpx, '--agent', agent, ...args], {
      cwd: folder,
      env,
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        printed += data
      })
    const [exit] = await once(child, 'close')
    return { exit, printed }
  }

  test('asks once, with and without permission', async () => {
    const home = homeWithAgents()
    const call = 'call write_file {"path":"a.txt","content":"two"}'
    const denied = await runAcpx(home, '--deny-all', 'exec', call)
    expect(denied.printed).toContain('the user denied')
    expect(existsSync(join(home.folder, 'a.txt'))).toBe(false)
    const { printed, exit } = await runAcpx(home, '--approve-all', 'exec', call)
    expect(printed).toMatch(/a\.txt.*\(completed\).*\[done\] end_turn/s)
    expect(exit).toBe(0)
    expect(readFileSync(join(home.folder, 'a.txt'), 'utf8')).toBe('two')
  })

  test('continues a session in another process, sets its mode, lists it and cancels a prompt', async () => {
    const home = homeWithAgents()
    const { printed } = await runAcpx(home, '--format', 'quiet', 'sessions', 'new')
    onTestFinished(() => runAcpx(home, 'sessions', 'close').then(() => {}))
    const id = /thread_[\w-]+/.exec(printed)?.[0] as string
    expect((await runAcpx(home, 'one')).printed).toContain('Message 1.')
    expect((await runAcpx(home, 'two')).printed).toContain('Message 3.')
    expect((await runAcpx(home, 'set-mode', 'read-only')).printed).toContain('read-only')
    const write = await runAcpx(home, 'call write_file {"path":"a.txt","content":"two"}')
    expect(write.printed).toContain('nothing may be changed')
    expect((await runAcpx(home, 'sessions', 'list')).printed).toContain(id)
    const waiting = runAcpx(home, 'please wait')
    await expect.poll(async () => (await home.run(['show', id])).stdout).toContain('Waiting.')
    await runAcpx(home, 'cancel')
    expect((await waiting).printed).toMatch(/\[done\] cancel/)
  })
})
