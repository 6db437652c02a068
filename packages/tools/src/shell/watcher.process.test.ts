import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { idIn, testShell, until } from './shell.test-kit.ts'
import { crashWatcher, newMarker, watcher } from './watcher.ts'

describe('the watcher', () => {
  test('is shared by all commands, in its own session, without the environment', async () => {
    await using shell = testShell({ sandbox: 'off' })
    await shell.run({ command: 'true' })
    const { pid } = watcher
    await Promise.all([shell.run({ command: 'true' }), shell.run({ command: 'true' })])
    expect(watcher.pid).toBe(pid)
    const session = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[3]
    expect(session).toBe(String(pid))
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toMatch(/^PATH=[^\0]*\0LC_ALL=C\0$/)
  })

  test('is restarted after being killed, at once if commands run, otherwise with the next command', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const id = idIn(await shell.run({ command: 'sleep 1000', background: true }))
    await killed(watcher.pid)
    expect(watcher.pid).toBeGreaterThan(0)
    await shell.poll({ id, stop: true })
    await killed(watcher.pid)
    expect(watcher.pid).toBe(undefined)
    await shell.run({ command: 'true' })
    expect(watcher.pid).toBeGreaterThan(0)
  })

  test('ignores SIGTERM', async () => {
    await using shell = testShell({ sandbox: 'off' })
    await shell.run({ command: 'true' })
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(watcher.pid ?? 0, signal)
    const { pid } = watcher
    await shell.run({ command: 'true' })
    expect(watcher.pid).toBe(pid)
  })

  test('without /proc ends the registered groups', async () => {
    const groups = [1, 2, 3].map(() => spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }))
    const [first, second, third] = groups as [ChildProcess, ChildProcess, ChildProcess]
    const ends = groups.map((child) => once(child, 'exit'))
    const watching = crashWatcher({ mark: randomUUID(), proc: '/no-such-folder' })
    watching.guard(first.pid ?? 0)
    // Groups from before its start are registered too.
    watching.wake()
    const forget = watching.guard(second.pid ?? 0)
    watching.guard(third.pid ?? 0)
    forget()
    watching.close()
    expect(await ends[0]).toEqual([null, 'SIGTERM'])
    expect(await ends[2]).toEqual([null, 'SIGTERM'])
    expect(second.signalCode).toBe(null)
    second.kill('SIGKILL')
    await ends[1]
  })

  test('of a nested process keeps the marker of the outer one', () => {
    const before = process.env.MILLRACE_COMMAND
    process.env.MILLRACE_COMMAND = 'outer.1.'
    const { marker, env } = newMarker()
    if (before === undefined) delete process.env.MILLRACE_COMMAND
    else process.env.MILLRACE_COMMAND = before
    expect(env).toEqual({ MILLRACE_COMMAND: `outer.1. ${marker}` })
  })
})

/** Kills it and waits until this is noticed. */
async function killed(pid: number | undefined): Promise<void> {
  process.kill(pid ?? 0, 'SIGKILL')
  await until(() => watcher.pid !== pid)
}
