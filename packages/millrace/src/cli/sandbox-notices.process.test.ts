import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Home } from './cli.test-kit.ts'
import { built, hasTerminals, homeWith, openTerminal } from './cli.test-kit.ts'

const notInstalled = 'bubblewrap is not installed (apt-get install bubblewrap)'
const unprotected = `Commands run without a sandbox, with all permissions of your user: ${notInstalled}.`
const failure = `millrace: shell: sandbox is 'required', but no sandbox works here: ${notInstalled}\n`

const toolsFile = (sandbox: string) => `
  import { shell } from ${JSON.stringify(built('index', 'tools'))}
  export default [shell({ workspace: '.', sandbox: '${sandbox}' })]
`
const agentsFile = (sandbox: string) => `
  import { agent } from ${JSON.stringify(built('index'))}
  import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
  import { shell } from ${JSON.stringify(built('index', 'tools'))}
  const model = scriptedModel(() => 'Done.')
  const tools = [shell({ workspace: '.', sandbox: '${sandbox}' })]
  const coder = agent({ name: 'coder', model, tools })
  export default { coder, boss: agent({ name: 'boss', model, tools: [coder.asTool({ description: 'c' })] }) }
`

async function homeOf(sandbox: string) {
  const home = await homeWith(['Ahoy.', 'Ahoy.'])
  home.write('tools.ts', toolsFile(sandbox))
  home.write('agents.ts', agentsFile(sandbox))
  return home
}

/** A PATH with only these programs, without bubblewrap. */
function without(home: Home, programs: Record<string, string> = {}): NodeJS.ProcessEnv {
  const bin = join(home.folder, 'bin')
  mkdirSync(bin)
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(bin, name))
  return { PATH: bin }
}

const times = (text: string, part: string) => text.split(part).length - 1

describe.concurrent('without bubblewrap', () => {
  test('a question prints to stderr that commands have no sandbox', async () => {
    const home = await homeOf('auto')
    const env = without(home)
    const { stdout, stderr, exit } = await home.run(['hi', '--tools', 'tools.ts'], { env })
    expect({ stdout, stderr, exit }).toEqual({ stdout: 'Ahoy.\n', stderr: `${unprotected}\n`, exit: 0 })
    const quiet = await home.run(['hi', '--tools', 'tools.ts', '--quiet'], { env })
    expect(quiet.stderr).toBe('')
  })

  test('a server prints it at start, and returns it with its agents', async () => {
    const home = await homeOf('auto')
    const server = home.start(['serve', 'agents.ts', '--port', '0'], { env: without(home) })
    await server.see('anyone on this machine')
    expect(times(server.stderr(), unprotected)).toBe(1)
    const [, url] = /listening at (\S+)/.exec(server.stdout()) ?? []
    expect(await (await fetch(`${url}/agents`)).json()).toMatchObject({
      agents: ['coder', 'boss'].map((name) => ({ name, notices: [unprotected] })),
    })
    server.child.kill('SIGTERM')
    expect((await server.ended).exit).toBe(0)
  })

  test.skipIf(!hasTerminals && !process.env.CI)('a chat shows it at the start', async () => {
    const home = await homeOf('auto')
    const env = without(home, { script: '/usr/bin/script', stty: '/usr/bin/stty' })
    const terminal = openTerminal(home, ['--tools', 'tools.ts'], { env, columns: 200 })
    await terminal.see(unprotected)
    await terminal.see('/help')
    terminal.type('/exit\r')
    expect((await terminal.ended).exit).toBe(0)
    expect(times(terminal.output(), 'without a sandbox')).toBe(1)
  })

  test.each([
    ['a question', ['hi', '--tools', 'tools.ts']],
    ['a server of tools', ['serve', '--tools', 'tools.ts', '--port', '0']],
    ['a server of agents', ['serve', 'agents.ts', '--port', '0']],
    ['a server for MCP', ['mcp', 'agents.ts']],
    ['a server for an editor', ['acp', 'agents.ts']],
  ])('%s fails at once if a sandbox is required', async (_, args) => {
    const home = await homeOf('required')
    const { stdout, stderr, exit } = await home.run(args, { env: without(home) })
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 2 })
    expect(stderr.endsWith(failure)).toBe(true)
    expect(home.simulator.requests).toHaveLength(0)
  })
})

test('a disabled sandbox is reported, and a working one is not', async () => {
  const off = await homeOf('off')
  expect((await off.run(['hi', '--tools', 'tools.ts'])).stderr).toBe(
    "Commands run without a sandbox, with all permissions of your user: sandbox is 'off'.\n",
  )
  const required = await homeOf('required')
  expect((await required.run(['hi', '--tools', 'tools.ts'])).stderr).toBe('')
})
