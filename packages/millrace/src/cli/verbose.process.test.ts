import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { built, hasTerminals, homeWith, linesOf, makeHome, openTerminal } from './cli.test-kit.ts'
import { toolsFile } from './tools.test-kit.ts'

const esc = String.fromCharCode(27)
const calls = [[{ text: 'Let me look.' }, { call: 'look_up', input: { id: 'A' } }], 'It has shipped.']
const asksFirst = [[{ text: 'Money goes out.' }, { call: 'refund', input: { id: 'A' } }], 'It is done.']

/** Without the durations, which differ each time. */
function plain(stderr: string): string[] {
  return stderr
    .replace(/\d[\d.]* m?s\b/g, 'N s')
    .split('\n')
    .filter((line) => / · /.test(line))
}

describe.concurrent('a question with --verbose', () => {
  test('logs the run in one line on stderr', async () => {
    const usage = { inputTokens: 812, outputTokens: 94, cacheReadTokens: 600 }
    const home = await homeWith([calls[0] as [], [{ text: 'It has shipped.' }, { usage }]])
    home.write('tools.ts', toolsFile)
    const { exit, stdout, stderr } = await home.run(['where is A?', '--tools', 'tools.ts', '--verbose'])
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'Let me look.\n\nIt has shipped.\n' })
    expect(plain(stderr)).toEqual([
      expect.stringMatching(
        /^run completed · cli · 2 rounds · 1 call · N s · \d+ \(600 cached\) → \d+ tokens$/,
      ),
    ])
  })

  test('logs failures and retries', async () => {
    const busy = [{ error: { code: 'overloaded', status: 529, message: 'overloaded' } }] as const
    const home = await homeWith([busy, [{ call: 'no_such_tool' }], 'Well then.'])
    const { stderr } = await home.run(['hi there', '--verbose'])
    expect(plain(stderr)).toEqual([
      'model call failed · cli · local/test-model · round 1 · overloaded (529) · N s · retrying in N s',
      'tool call failed · cli · no_such_tool · rejected · N s',
      expect.stringMatching(/^run completed · cli · 2 rounds · 1 call, 1 failed · N s/),
    ])
  })

  test('logs why a run failed, without its content', async () => {
    const home = await homeWith([[{ error: { code: 'auth', status: 401, message: 'the secret' } }]])
    const { exit, stderr } = await home.run(['hi there', '--verbose'])
    expect(exit).toBe(3)
    expect(plain(stderr)).toEqual([
      'model call failed · cli · local/test-model · round 1 · auth (401) · N s',
      'run failed · cli · 1 round · N s · auth (401)',
    ])
  })

  test('keeps stdout for --json', async () => {
    const home = await homeWith(['A millrace drives a wheel.'])
    const { stdout, stderr } = await home.run(['hi there', '--json', '--verbose'])
    expect(linesOf(stdout).at(-1)).toMatchObject({ result: { outcome: 'completed' } })
    expect(plain(stderr)).toEqual([expect.stringMatching(/^run completed · cli/)])
  })

  test('cannot be combined with --quiet', async () => {
    const { exit, stderr } = await makeHome().run(['hi there', '--quiet', '--verbose'])
    expect({ exit, stderr }).toEqual({
      exit: 2,
      stderr: 'millrace: --quiet and --verbose cannot be combined\n',
    })
  })

  test('removes control sequences from tool names', async () => {
    const name = `no${esc}]0;owned\u0007such${esc}[2J\n· run failed`
    const home = await homeWith([[{ call: name }], 'Well then.'])
    const { stderr } = await home.run(['hi there', '--verbose'])
    expect(stderr).not.toContain(esc)
    expect(plain(stderr)[0]).toBe('tool call failed · cli · nosuch · run failed · rejected · N s')
  })

  test('logs the suspended run and the one that resumes it', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const first = await home.run(['refund A', '--tools', 'tools.ts', '--verbose', '-t', 'x', '--new'])
    expect(plain(first.stderr)).toEqual([expect.stringMatching(/^run suspended · cli · 1 round · N s/)])
    const second = await home.run(['approve', 'x', '--tools', 'tools.ts', '--verbose'])
    expect(plain(second.stderr)).toEqual([
      expect.stringMatching(/^run completed · cli · 1 round · 1 call · N s · .*resumed$/),
    ])
  })
})

describe.concurrent('servers with --verbose', () => {
  const agentsFile = `
    import { agent } from ${JSON.stringify(built('index'))}
    import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
    export default { desk: agent({ name: 'desk', model: scriptedModel(() => 'The desk is open.') }) }
  `

  test('log each run: over HTTP', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const server = home.start(['serve', 'agents.ts', '--port', '0', '--verbose'])
    await server.see(/listening at http:\S+\n/)
    const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
    const headers = { 'content-type': 'application/json' }
    await fetch(`${url}/threads`, { method: 'POST', headers, body: '{"id":"mine"}' })
    await fetch(`${url}/threads/mine/messages`, { method: 'POST', headers, body: '{"message":"hi"}' })
    await server.see('run completed · desk · 1 round')
    server.child.kill('SIGTERM')
    const { exit, stdout } = await server.ended
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: `listening at ${url}\n` })
  })

  test('log each run: over MCP, only on stderr', async () => {
    const home = makeHome()
    home.write('agents.ts', agentsFile)
    const server = home.start(['mcp', 'agents.ts', '--verbose'], { stdin: 'pipe' })
    const say = (message: object) =>
      server.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const clientInfo = { name: 'test', version: '1' }
    say({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
    })
    await server.see('"id":1')
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/call', params: { name: 'desk', arguments: { prompt: 'hi' } } })
    await server.see('run completed · desk · 1 round')
    server.child.stdin?.end()
    const { exit, stdout } = await server.ended
    expect(exit).toBe(0)
    expect(linesOf(stdout).every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true)
  })
})

describe.concurrent('in a terminal --verbose', { skip: !hasTerminals && !process.env.CI }, () => {
  const long = Array.from({ length: 30 }, (_, line) => `Line ${line + 1} of it.`).join('\n\n')

  test('is shown below the answer, dimmed', async () => {
    const home = await homeWith([long])
    const terminal = openTerminal(home, ['hi there', '--verbose'])
    await terminal.see('Line 30 of it.')
    await terminal.see('run completed · cli · 1 round')
    await terminal.see('continue with')
    await terminal.ended
    expect(terminal.output()).toContain(`${esc}[2mrun completed`)
    expect(stripVTControlCharacters(terminal.output()).match(/run completed/g)).toHaveLength(1)
  })

  test('is shown before the approval prompt', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A', '--tools', 'tools.ts', '--verbose'])
    await terminal.see('Money goes out.')
    await terminal.see('run suspended · cli')
    await terminal.see('Refund A? [y] allow once · [N] deny (or type a reason) ')
    terminal.type('y\r')
    await terminal.see('It is done.')
    await terminal.see(/run completed · cli .* resumed/)
    expect((await terminal.ended).exit).toBe(0)
  })

  test.each(['xterm-256color', 'dumb'])(
    'is shown below each answer of a chat, with TERM=%s',
    async (TERM) => {
      const home = await homeWith([long, 'Hello again.', [{ text: 'And' }, { hang: true }]])
      const terminal = openTerminal(home, ['--verbose'], { env: { TERM } })
      await terminal.see('/help')
      terminal.type('hi there\r')
      await terminal.see('Line 30 of it.')
      await terminal.see('run completed · cli · 1 round')
      terminal.type('once more\r')
      await terminal.see('Hello again.')
      await terminal.see('run completed · cli · 1 round')
      terminal.type('go on\r')
      await terminal.see('And')
      terminal.type('\x03')
      await terminal.see('run canceled · cli')
      terminal.type('\x04')
      await terminal.see('continue with')
      expect((await terminal.ended).exit).toBe(0)
    },
  )
})
