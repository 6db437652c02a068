import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { idIn, modes, testShell, until } from './shell.test-kit.ts'

const line =
  '(setsid sh -c \'trap "" TERM; while :; do sleep 1; done\' >/dev/null 2>&1 &); while :; do echo more; sleep 0.01; done'

type Wait = (shell: ReturnType<typeof testShell>, progressed: readonly unknown[]) => unknown

/** Moments to cancel a run, each as a wait after the call. */
const moments: readonly (readonly [string, Wait])[] = [
  ['at once', () => {}],
  ['in the next microtask', () => Promise.resolve()],
  ['in the next turn of the event loop', () => new Promise((resolve) => setImmediate(resolve))],
  ...[1, 2, 3, 5, 8, 13, 21, 34, 55, 89].map((ms) => [`after ${ms} ms`, () => pause(ms)] as const),
  ['once there are processes', (shell) => until(() => shell.left().length > 0)],
  ['while it prints', (_, progressed) => until(() => progressed.length > 1)],
]

describe.each(modes)('canceled, sandbox %s', (sandbox) => {
  test.each(moments)('%s, a command leaves no processes', async (_, wait) => {
    await using shell = testShell({ sandbox })
    const controller = new AbortController()
    const { signal } = controller
    const progressed: unknown[] = []
    const running = shell.run({ command: line }, { signal, progress: (data) => void progressed.push(data) })
    const rejection = expect(running).rejects.toThrow('enough')
    await wait(shell, progressed)
    controller.abort(new Error('enough'))
    await rejection
    expect(shell.left()).toEqual([])
  })

  test.each(moments)('%s, a background command leaves no processes', async (_, wait) => {
    await using shell = testShell({ sandbox })
    const controller = new AbortController()
    const { signal } = controller
    const running = shell
      .run({ command: line, background: true }, { signal, runSignal: signal })
      .catch((error: Error) => error.message)
    await wait(shell, [1, 2])
    controller.abort(new Error('enough'))
    await running
    await expect.poll(shell.left).toEqual([])
  })

  test('before the start, a command is not started', async () => {
    await using shell = testShell({ sandbox })
    const signal = AbortSignal.abort(new Error('enough'))
    for (const background of [false, true]) {
      const running = shell.run({ command: 'touch started', background }, { signal, runSignal: signal })
      await expect(running).rejects.toThrow('enough')
    }
    expect(existsSync(join(shell.workspace, 'started'))).toBe(false)
  })

  test('at its timeout, or again while it ends, a command leaves no processes', async () => {
    for (const ms of [0, 20, 50, 90, 110]) {
      await using shell = testShell({ sandbox })
      const controller = new AbortController()
      const running = shell.run({ command: line, timeout_ms: 200 }, { signal: controller.signal })
      const outcome = running.catch((error: Error) => error.message)
      await pause(200 + ms)
      controller.abort(new Error('enough'))
      await outcome
      expect(shell.left()).toEqual([])
    }
  })

  test('a canceled run ends its background commands, even later', async () => {
    await using shell = testShell({ sandbox })
    const [call, run] = [new AbortController(), new AbortController()]
    const text = await shell.run(
      { command: line, background: true },
      { signal: call.signal, runSignal: run.signal },
    )
    call.abort()
    expect(shell.left()).not.toEqual([])
    run.abort()
    await expect.poll(shell.left).toEqual([])
    expect(await shell.poll({ id: idIn(text) })).toContain(': the run was canceled')
  })
})
