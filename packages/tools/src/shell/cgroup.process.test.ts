import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { cgroupFolder, newCgroup } from './cgroup.ts'
import { startCommand } from './command.ts'
import { testShell, until } from './shell.test-kit.ts'
import { newMarker } from './watcher.ts'

const probe = newCgroup(newMarker().marker)
await probe?.remove()
// Depends on the machine, not on installed software.
if (!probe) process.stderr.write('tests of cgroups are left out: this process may make none here\n')

/** A unique number of seconds, to identify a `sleep`. */
let sleeps = 0
const uniqueSleep = () => `${1_000 + ++sleeps}.${process.pid}${Date.now()}`

describe.skipIf(!probe)('a process that left session, environment and parent', () => {
  test.each([
    ['with one fork', (sleep: string) => `env -i setsid -f sleep ${sleep}`],
    ['with two', (sleep: string) => `(env -i setsid sh -c 'sleep ${sleep} & exit' &) > /dev/null 2>&1`],
    ['and ignores SIGTERM', (sleep: string) => `env -i setsid -f sh -c 'trap "" TERM; sleep ${sleep}'`],
    ['into a nested cgroup', inCgroupBelow],
  ])('%s is ended with its command and counted', async (_, hide) => {
    await using shell = testShell({ sandbox: 'off' })
    const sleep = uniqueSleep()
    const line = `${hide(sleep)}; until grep -sqaz '^${sleep}$' /proc/[0-9]*/cmdline; do :; done`
    expect(await shell.run({ command: line })).toMatch(/process(es)? that it left running w/)
    expect(sleeping(sleep)).toBe(0)
    expect(ownFolders()).toEqual([])
  })

  test('is ended when its command is canceled, for several at once', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const all = [1, 2, 3, 4].map(uniqueSleep)
    const controller = new AbortController()
    const { signal } = controller
    const runs = all.map((sleep) =>
      shell.run({ command: `env -i setsid -f sleep ${sleep}; sleep 1000` }, { signal }),
    )
    const ends = Promise.allSettled(runs)
    await until(() => all.every((sleep) => sleeping(sleep) === 1))
    controller.abort(new Error('enough'))
    await ends
    expect(all.map(sleeping)).toEqual([0, 0, 0, 0])
    expect(ownFolders()).toEqual([])
  })

  test('is ended when this process is killed, and its cgroup is removed', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const sleep = uniqueSleep()
    const script = fileURLToPath(new URL('./crash.test-kit.ts', import.meta.url))
    const child = spawn(process.execPath, [script, 'hide', shell.workspace, sleep], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [said] = (await once(child.stdout, 'data')) as [Buffer]
    const folder =
      readFileSync(`/proc/${Number(String(said))}/cmdline`, 'utf8')
        .split('\0')
        .at(-2) ?? ''
    await until(() => sleeping(sleep) === 2)
    expect(foldersOf(folder)).toHaveLength(2)
    child.kill('SIGKILL')
    await expect.poll(() => sleeping(sleep)).toBe(0)
    await expect.poll(() => foldersOf(folder)).toEqual([])
  })
})

describe.skipIf(!probe)('a command in a cgroup', () => {
  test('is in it from the start, under its own name', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const text = await shell.run({ command: 'cat /proc/$$/cgroup; tr "\\0" " " < /proc/$$/cmdline' })
    expect(text).toMatch(/^0::.*\/millrace-/m)
    expect(text).toMatch(/bash -c -- cat/)
  })

  test('that cannot be started leaves no folder', async () => {
    const order = { args: [], cwd: '/no-such-folder', env: {}, maxOutputBytes: 100, graceMs: 0 }
    await expect(startCommand({ ...order, file: '/bin/sh' })).rejects.toThrow('ENOENT')
    await expect(startCommand({ ...order, cwd: '/', file: '/no/program' })).rejects.toThrow('ENOENT')
    const long = ['x'.repeat(3_000_000)]
    await expect(startCommand({ ...order, cwd: '/', file: '/bin/sh', args: long })).rejects.toThrow('E2BIG')
    expect(ownFolders()).toEqual([])
  })
})

/** Creates a cgroup inside that of the command, as a service manager does. */
function inCgroupBelow(sleep: string): string {
  const own = `"${dirname(cgroupFolder('') ?? '')}/$(basename "$(sed -n 's/^0:://p' /proc/self/cgroup)")"`
  return `at=${own}/below; mkdir $at; env -i setsid -f sh -c "echo 0 > $at/cgroup.procs; exec sleep ${sleep}"`
}

/** The cgroups of this process's commands. */
function ownFolders(): string[] {
  return foldersOf(cgroupFolder(newMarker().marker.split('.')[0] ?? '') ?? '')
}

function foldersOf(prefix: string): string[] {
  return readdirSync(dirname(prefix)).filter((name) => name.startsWith(basename(prefix)))
}

function sleeping(sleep: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${sleep}\0`
    } catch {
      return false
    }
  }).length
}
