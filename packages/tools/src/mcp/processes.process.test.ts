import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { mcp } from '../mcp.ts'
import { call, connected, gone, isAlive, kitServer, rawServer } from './kit.test-kit.ts'

test('close ends a server that ignores the end of stdin and SIGTERM, with all its processes', async () => {
  const box = await connected(rawServer('stubborn'))
  const pids: number[] = JSON.parse(String(await call(box, 'pids')))
  expect(pids.map(isAlive)).toEqual([true, true])
  await box.close()
  await gone(...pids)
})

test.runIf(process.platform === 'linux')('close ends processes in another session', async () => {
  const { command, args } = rawServer('plain')
  const line = [command, ...args].map((word) => `'${word}'`).join(' ')
  const script = `setsid sh -c 'echo $$ >&2; exec sleep 1000' >/dev/null & exec ${line}`
  let pid = 0
  const onLog = ({ text }: { text: string }) => {
    pid = Number(text) || pid
  }
  const box = await connected({ command: 'sh', args: ['-c', script], onLog })
  await expect.poll(() => pid).toBeGreaterThan(0)
  expect(isAlive(pid)).toBe(true)
  await box.close()
  await gone(pid)
})

test('a crashed server leaves no processes, and is restarted by the next call', async () => {
  const box = await connected(rawServer('stubborn'))
  const [leader = 0, grandchild = 0]: number[] = JSON.parse(String(await call(box, 'pids')))
  process.kill(leader, 'SIGKILL')
  await gone(leader)
  // Its pipes may still be open; a call made now has certainly not run.
  const [next]: number[] = JSON.parse(String(await call(box, 'pids')))
  expect(next).not.toBe(leader)
  await gone(grandchild)
})

test('a server can be started through a shell', async () => {
  const { command, args } = rawServer('plain')
  const line = [command, ...args].map((word) => `'${word}'`).join(' ')
  const box = await connected({ command: 'sh', args: ['-c', `${line}; true`] })
  const [pid = 0]: number[] = JSON.parse(String(await call(box, 'pids')))
  await box.close()
  await gone(pid)
})

test.each(['process.exit()', "process.kill(process.pid, 'SIGKILL')"])(
  'a server ends when this process ends by %s',
  async (leave) => {
    const mode = leave.includes('exit') ? 'stubborn' : 'plain'
    const program = `
      import { mcp } from ${JSON.stringify(new URL('../mcp.ts', import.meta.url).href)}
      const box = await mcp(${JSON.stringify(rawServer(mode))})
      const pids = await box.tools[0].run({}, { signal: new AbortController().signal, runSignal: new AbortController().signal, idempotencyKey: 'call', progress() {} })
      process.stdout.write(pids, () => { ${leave} })`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [written] = await once(child.stdout, 'data')
    await once(child, 'exit')
    const pids: (number | null)[] = JSON.parse(String(written))
    expect(pids[0]).toBeGreaterThan(0)
    await gone(...pids.filter((pid) => pid !== null))
  },
)

test('a server gets a few safe variables, and the configured ones', async () => {
  process.env.MILLRACE_SECRET = 'do not tell'
  onTestFinished(() => void delete process.env.MILLRACE_SECRET)
  const { options } = await kitServer('old-stdio')
  const box = await connected({ ...options, command: process.execPath, env: { TOKEN: 'abc' }, cwd: '/' })
  const { env, cwd } = JSON.parse(String(await call(box, 'seen')))
  expect(env).toMatchObject({ PATH: process.env.PATH, TOKEN: 'abc' })
  expect(env).not.toHaveProperty('MILLRACE_SECRET')
  expect(cwd).toBe('/')
})

test('a missing command is named without its folders', async () => {
  await expect(mcp({ command: '/secret/place/no-such-server' })).rejects.toThrow(
    /^the MCP server 'no-such-server' cannot be started: the command or folder does not exist$/,
  )
})
