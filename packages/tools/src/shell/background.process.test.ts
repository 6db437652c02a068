import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { idIn, modes, testShell, until } from './shell.test-kit.ts'

/** Prints a line when a file appears, so that a test controls the timing. */
const controlled =
  'echo ready; for n in 1 2 3; do until [ -e $n ]; do sleep 0.02; done; echo line $n; done; exit 7'

describe.each(modes)('in the background, sandbox %s', (sandbox) => {
  test('a command keeps running, and each poll returns new output, then its end', async () => {
    await using shell = testShell({ sandbox })
    const first = await shell.background(controlled, 'ready')
    const id = idIn(first)
    expect(first).toMatch(
      /(^|\n)\[running in the background as bg_\w+ for [\d.]+ s; poll it with shell_output\](\n\[in the sandbox .*\])?/,
    )
    expect(await shell.poll({ id, wait_ms: 0 })).toMatch(/^\(no output\)\n\[running/)
    writeFileSync(join(shell.workspace, '1'), '')
    expect(await shell.poll({ id, wait_ms: 60_000 })).toMatch(/^line 1\n\[running/)
    for (const name of ['2', '3']) writeFileSync(join(shell.workspace, name), '')
    let rest = ''
    while (!rest.includes('[exit')) rest += await shell.poll({ id, wait_ms: 60_000 })
    expect(rest.replaceAll(/\[running.*\]/g, '')).toMatch(/^line 2\n+line 3\n\[exit code 7 after/)
    expect(await shell.poll({ id })).toMatch(/^\(no output\)\n\[exit code 7 after/)
  })

  test('a command that ends at once is reported as ended', async () => {
    await using shell = testShell({ sandbox })
    const text = await shell.background('echo port taken; exit 1', '[exit')
    expect(text).toMatch(
      /port taken\n[\s\S]*\[exit code 1 after [\d.]+ s\](\n\[bg_\w+ is no longer running\])?$/,
    )
  })

  test('the model can stop a command', async () => {
    await using shell = testShell({ sandbox })
    const command = "trap '' TERM; echo up; (setsid sleep 1000 &); while :; do sleep 1; done"
    const id = idIn(await shell.run({ command, background: true }))
    expect(await shell.poll({ id, stop: true })).toContain(': you stopped it]')
    expect(shell.left()).toEqual([])
    expect(await shell.poll({ id, stop: true })).toContain('is no longer running')
  })

  test('a command ends at its time limit, and when the shell is closed', async () => {
    await using shell = testShell({ sandbox, backgroundMs: 700 })
    const text = await shell.run({ command: 'sleep 1000', background: true })
    await until(() => shell.left().length === 0)
    expect(await shell.poll({ id: idIn(text) })).toContain(': the limit is 0.7 s]')
    await shell.run({ command: 'sleep 1000', background: true })
    await shell.box.close()
    expect(shell.left()).toEqual([])
    await expect(shell.run({ command: 'true' })).rejects.toThrow('the shell is closed')
  })

  test('long output is cut in the middle, with a note about how much is missing', async () => {
    await using shell = testShell({ sandbox, maxOutputBytes: 100_000 })
    const command =
      'until [ -e go ]; do sleep 0.02; done; echo first; yes | head -c 5000000; echo last; touch done; sleep 1000'
    const id = idIn(await shell.run({ command, background: true }))
    writeFileSync(join(shell.workspace, 'go'), '')
    await until(() => existsSync(join(shell.workspace, 'done')))
    const text = await shell.poll({ id })
    expect(text).toMatch(/^first\ny\n[\s\S]*y\nlast\n\[4\.\d MB of output left out in the middle/)
    expect(text.length).toBeLessThan(150_000)
  })
})

describe('commands in the background', () => {
  test('are limited, and the error lists which ones to stop', async () => {
    await using shell = testShell({ sandbox: 'off', maxBackground: 2 })
    const [one] = await Promise.all([
      shell.run({ command: 'sleep 1000', background: true }),
      shell.run({ command: 'sleep 2000', background: true }),
    ])
    const third = () => shell.run({ command: 'sleep 3000', background: true })
    await expect(third()).rejects.toThrow(
      /2 commands are already running .* bg_\w+ \(sleep 1000\), bg_\w+ \(sleep 2000\)\. Stop one/,
    )
    await shell.poll({ id: idIn(one), stop: true })
    await third()
  })

  test('are listed if the model polls an unknown id', async () => {
    await using shell = testShell({ sandbox: 'off' })
    await expect(shell.poll({ id: 'bg_1' })).rejects.toThrow(
      'None is known. Background commands end when the process',
    )
    const id = idIn(await shell.run({ command: 'sleep 1000', background: true }))
    await expect(shell.poll({ id: 'bg_1' })).rejects.toThrow(`Known: ${id} (sleep 1000).`)
  })

  test('can be polled for a while after their end', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const texts: string[] = []
    for (let count = 0; count < 18; count++)
      texts.push(await shell.run({ command: 'true', background: true }))
    await expect(shell.poll({ id: idIn(texts[0] ?? '') })).rejects.toThrow('there is no background command')
    expect(await shell.poll({ id: idIn(texts[17] ?? '') })).toContain('[exit code 0')
  })

  test('are not ended by a canceled poll', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const id = idIn(await shell.run({ command: 'sleep 1000', background: true }))
    const controller = new AbortController()
    const polling = shell.poll({ id, wait_ms: 60_000 }, { signal: controller.signal })
    controller.abort()
    expect(await polling).toContain('[running')
    expect(shell.left()).not.toEqual([])
  })
})
