import { existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { modes, testShell, until } from './shell.test-kit.ts'

const forever = {
  'waits forever': 'sleep 1000',
  'ignores SIGTERM': "trap '' TERM INT HUP; while :; do sleep 1; done",
  forks: 'sleep 1000 & sleep 1000 & (sleep 1000; true) & wait',
  'hides in another session': "(setsid nohup sh -c 'sleep 1000; true' >/dev/null 2>&1 &); sleep 1000",
  'hides and ignores SIGTERM':
    '(setsid sh -c \'trap "" TERM; while :; do sleep 1; done\' >/dev/null 2>&1 &); sleep 1000',
  'prints without end': 'yes',
  'is suspended': 'kill -STOP $$; sleep 1000',
}

describe.each(modes)('a command, sandbox %s', (sandbox) => {
  test.each([
    ['true', '[exit code 0 after'],
    ['exit 3', '[exit code 3 after'],
    ['no-such-program-here', '[exit code 127 after'],
    ['sh -c "kill -SEGV \\$\\$"; exit $?', '[exit code 139 (SIGSEGV) after'],
  ])('%s reports how it ended', async (command, note) => {
    await using shell = testShell({ sandbox })
    expect(await shell.run({ command })).toContain(note)
  })

  test('returns its output in order, and its end last', async () => {
    await using shell = testShell({ sandbox })
    const text = await shell.run({ command: 'echo one; sleep 0.1; echo two >&2; sleep 0.1; printf three' })
    expect(text).toMatch(/^one\ntwo\nthree\n\[exit code 0 after [\d.]+ s\]$/)
  })

  test('has empty stdin and no terminal', async () => {
    await using shell = testShell({ sandbox })
    const text = await shell.run({
      command: 'cat; read line || echo end; (: </dev/tty) 2>/dev/null || echo none',
    })
    expect(text).toMatch(/^end\nnone\n/)
  })

  test('keeps its output when it times out', async () => {
    await using shell = testShell({ sandbox })
    const text = await shell.run({ command: 'echo started; sleep 1000', timeout_ms: 500 })
    expect(text).toContain(
      'started\n[stopped: it did not finish within 0.5 s. Set timeout_ms (at most 600000)',
    )
    expect(shell.left()).toEqual([])
  })

  test.each(Object.entries(forever))('that %s leaves no processes when it times out', async (_, command) => {
    await using shell = testShell({ sandbox })
    expect(await shell.run({ command, timeout_ms: 300 })).toContain('[stopped:')
    expect(shell.left()).toEqual([])
  })

  test.each(Object.entries(forever))(
    'that %s leaves no processes when it is canceled',
    async (_, command) => {
      await using shell = testShell({ sandbox })
      const controller = new AbortController()
      const running = shell.run({ command }, { signal: controller.signal })
      await until(() => shell.left().length > 0)
      controller.abort(new Error('enough'))
      await expect(running).rejects.toThrow('enough')
      expect(shell.left()).toEqual([])
    },
  )

  test.each(Object.entries(forever))(
    'that %s leaves no processes when the shell is closed',
    async (_, command) => {
      await using shell = testShell({ sandbox })
      const running = shell.run({ command })
      await until(() => shell.left().length > 0)
      await shell.box.close()
      expect(shell.left()).toEqual([])
      await running
    },
  )

  test('can clean up on SIGTERM', async () => {
    await using shell = testShell({ sandbox, graceMs: 30_000 })
    const command = "trap 'echo cleaned; exit 0' TERM; echo started; while :; do sleep 0.05; done"
    expect(await shell.run({ command, timeout_ms: 500 })).toMatch(/^started\n[\s\S]*cleaned\n\[stopped/)
  })

  test('that prints a hundred thousand lines returns all of them', async () => {
    await using shell = testShell({ sandbox })
    const command = 'for i in {1..100000}; do printf x; done'
    const text = await shell.run({ command, timeout_ms: 100_000 })
    expect(text.split('\n')[0]).toBe('x'.repeat(100_000))
  })

  test('that prints raw bytes returns text', async () => {
    await using shell = testShell({ sandbox })
    const command =
      "printf 'a\\0b\\377c\\033[31mred\\033[0m\\r\\n'; printf '\\303'; sleep 0.2; printf '\\251\\n'; head -c 4000 /dev/urandom"
    const text = await shell.run({ command })
    expect(text).toMatch(/^ab\uFFFDcred\né\n/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: checks that there are none
    expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
  })

  test('sees no secrets of this process, only its own variables', async () => {
    const secrets = {
      OPENAI_API_KEY: 'sk-1',
      AWS_SECRET_ACCESS_KEY: 's2',
      DATABASE_URL: 'p3',
      MY_TOKEN: 't4',
    }
    Object.assign(process.env, secrets, { PASSED_ON: 'yes' })
    await using shell = testShell({ sandbox, passEnv: ['PASSED_ON'], env: { GIVEN: 'too' } })
    const own = Object.keys(process.env)
    const names = (await shell.run({ command: 'env -0 | tr "\\0" "\\n" | sed "s/=.*//"' })).split('\n')
    for (const name of [...Object.keys(secrets), 'PASSED_ON']) delete process.env[name]
    expect(names).toEqual(expect.arrayContaining(['PATH', 'HOME', 'PASSED_ON', 'GIVEN', 'NO_COLOR']))
    const harmless = /^(PATH|HOME|USER|LOGNAME|SHELL|TZ|TMPDIR|LANG|LANGUAGE|LC_[A-Z]+|PASSED_ON)$/
    // Variables that the shell sets itself.
    const set =
      /^(PWD|SHLVL|_|TERM|NO_COLOR|PAGER|MANPAGER|DEBIAN_FRONTEND|PYTHONUNBUFFERED|MILLRACE_COMMAND|GIT_\w+)$/
    const passed = names.filter((name) => own.includes(name) && !set.test(name))
    expect(passed.filter((name) => !harmless.test(name))).toEqual([])
  })

  test('runs in the given folder', async () => {
    await using shell = testShell({ sandbox })
    mkdirSync(join(shell.workspace, 'deep/er'), { recursive: true })
    await shell.run({ command: 'echo hello > here', cwd: 'deep/er' })
    expect(readFileSync(join(shell.workspace, 'deep/er/here'), 'utf8')).toBe('hello\n')
  })
})

describe('without a sandbox', () => {
  test('processes left running are ended, and the result says so', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const text = await shell.run({ command: 'sleep 1000 & sleep 1000 >/dev/null 2>&1 & echo done' })
    expect(text).toContain(
      'done\n[2 processes that it left running were ended: use background: true to keep them running]\n[exit',
    )
    expect(shell.left()).toEqual([])
    const hidden = "(setsid nohup sh -c 'exec sleep 1000' >/dev/null 2>&1 &)"
    expect(await shell.run({ command: hidden })).toContain('[a process that it left running was ended')
    expect(shell.left()).toEqual([])
  })

  test('processes without the marker are found by session or parent', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const pids = join(shell.workspace, 'pids')
    const command = `env -i sleep 1000 & echo $! > ${pids}; env -i setsid sleep 1000 & echo $! >> ${pids}; wait`
    const controller = new AbortController()
    const running = shell.run({ command }, { signal: controller.signal })
    const pidsIn = () => readFileSync(pids, 'utf8').trim().split('\n').map(Number)
    await until(
      () => existsSync(pids) && pidsIn().length === 2 && pidsIn().every((pid) => nameOf(pid) === 'sleep'),
    )
    controller.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    expect(pidsIn().map(nameOf)).toEqual([undefined, undefined])
    // Its parent has ended by the time of the listing.
    await shell.run({ command: `env -i sleep 1000 >/dev/null 2>&1 & echo $! > ${pids}` })
    expect(pidsIn().map(nameOf)).toEqual([undefined])
  })

  test('a signal that ended a command is reported', async () => {
    await using shell = testShell({ sandbox: 'off' })
    expect(await shell.run({ command: 'kill -SEGV $$' })).toContain('[ended by SIGSEGV after')
  })

  test('a cwd that is missing, a file or outside the workspace is rejected with an explanation', async () => {
    await using shell = testShell({ sandbox: 'off' })
    await shell.run({ command: 'touch file; ln -s /etc out; mkdir gone' })
    rmdirSync(join(shell.workspace, 'gone'))
    const problemOf = (cwd: string) =>
      shell.run({ command: 'pwd', cwd }).catch((error: Error) => error.message)
    expect(await problemOf('gone')).toBe('there is no folder "gone" in the workspace')
    expect(await problemOf('file')).toBe('"file" is a file: cwd must be a folder')
    for (const cwd of ['..', '/', '/etc', 'out', 'out/ssl', '../../no/such', `${shell.workspace}-other`])
      expect(await problemOf(cwd)).toContain('cwd must be a folder inside the workspace')
    expect(await problemOf(shell.workspace)).toContain(shell.workspace)
  })

  test('a deleted workspace is explained', async () => {
    const shell = testShell({ sandbox: 'off' })
    rmdirSync(shell.workspace)
    await expect(shell.run({ command: 'pwd' })).rejects.toThrow('the working directory no longer exists')
  })

  test('for a command too long for the system, the error suggests a file', async () => {
    await using shell = testShell({ sandbox: 'off' })
    await expect(shell.run({ command: `: ${'x'.repeat(3_000_000)}` })).rejects.toThrow('write it to a file')
  })
})

function nameOf(pid: number): string | undefined {
  try {
    const [, name, state] = /\((.*)\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return state === 'Z' ? undefined : name
  } catch {
    return undefined
  }
}
