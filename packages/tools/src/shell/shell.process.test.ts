import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agent } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { modes, testShell } from './shell.test-kit.ts'
import { type ShellOptions, shell } from './shell.ts'

const opaqueOf = async (parts: Promise<readonly unknown[]>) => {
  const [part, ...more] = await parts
  expect(more).toEqual([])
  return part as { text: string; opaque: { provider: string; data: unknown[] } }
}

describe('calls in the forms of the Responses API', () => {
  test('the argv of one command runs without a shell, with a result in that format', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const { text, opaque } = await opaqueOf(
      shell.parts({ command: ['printf', '%s|', '~', '$HOME', 'a b'], env: { X: 'y' }, user: null }),
    )
    expect(text).toMatch(/^~\|\$HOME\|a b\|\n\[exit code 0/)
    expect(opaque).toEqual({
      provider: 'shell',
      data: [{ stdout: '~|$HOME|a b|', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    })
    const seen = await opaqueOf(shell.parts({ command: ['sh', '-c', 'echo $X'], env: { X: 'y' } }))
    expect(seen.text).toMatch(/^y\n/)
  })

  test('a missing program is reported as by a shell', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const { opaque } = await opaqueOf(shell.parts({ command: ['no-such-program'] }))
    expect(opaque.data).toEqual([
      { stdout: '', stderr: 'no-such-program: command not found', outcome: { type: 'exit', exit_code: 127 } },
    ])
  })

  test('several lines run in order, each with its own result', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const { text, opaque } = await opaqueOf(
      shell.parts({
        commands: ['echo out; echo err >&2; exit 3', 'cat made || echo none', 'kill -KILL $$', 'sleep 1000'],
        // Enough for the first three lines on a busy machine.
        timeout_ms: 5_000,
      }),
    )
    expect(text).toMatch(/^\$ echo out.*\nout\nerr\n\[exit code 3 .*\n\n\$ cat made/)
    expect(opaque.data).toEqual([
      { stdout: 'out', stderr: 'err', outcome: { type: 'exit', exit_code: 3 } },
      {
        stdout: 'none',
        stderr: expect.stringContaining('No such file'),
        outcome: { type: 'exit', exit_code: 0 },
      },
      { stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 137 } },
      { stdout: '', stderr: expect.stringContaining('did not finish'), outcome: { type: 'timeout' } },
    ])
  })

  test('output is limited to the requested length', async () => {
    await using shell = testShell({ sandbox: 'off' })
    const { opaque } = await opaqueOf(
      shell.parts({ commands: ['seq 10000; seq 10000 >&2'], max_output_length: 100 }),
    )
    const [{ stdout, stderr }] = opaque.data as [{ stdout: string; stderr: string }]
    for (const part of [stdout, stderr]) {
      expect(part).toMatch(/^1\n2\n[\s\S]*\n\[…\]\n[\s\S]*10000$/)
      expect(part.length).toBeLessThanOrEqual(100)
    }
  })
})

describe('the accesses of a call', () => {
  const accessOf = async (input: unknown, options: Partial<ShellOptions> = {}) => {
    await using shell = testShell({ sandbox: 'off', ...options })
    const [tool] = shell.box.tools
    const checked = await tool?.schema.check(input)
    if (!checked || checked.issues) throw new Error('not valid')
    return tool?.access?.(checked.value as never)
  }

  test('include every command in every form', async () => {
    const runs = (...commands: string[]) =>
      commands.map((command) => expect.objectContaining({ kind: 'run', command }))
    expect(await accessOf({ command: 'echo x; rm -rf ~' })).toEqual(
      expect.arrayContaining(runs('echo x', 'rm -rf ~')),
    )
    expect(await accessOf({ commands: ['ls', 'rm b'] })).toEqual(expect.arrayContaining(runs('ls', 'rm b')))
    expect(await accessOf({ command: ['rm', 'b'] })).toEqual(expect.arrayContaining(runs('rm b')))
  })

  test('are opaque with variables that can change what runs', async () => {
    const [first] = (await accessOf({ command: ['git', 'log'], env: { GIT_PAGER: 'rm b' } })) ?? []
    expect(first).toMatchObject({ kind: 'run', command: "GIT_PAGER='rm b' git log", opaque: true })
  })

  test('are opaque for other shells', async () => {
    expect(await accessOf({ command: 'ls' }, { program: '/usr/bin/fish' })).toEqual([
      { kind: 'run', command: 'ls', opaque: true },
    ])
  })

  test('are empty for a poll', async () => {
    await using shell = testShell({ sandbox: 'off' })
    expect(await shell.box.tools[1]?.access?.({} as never)).toEqual([])
  })
})

describe('a shell', () => {
  test('streams output in an agent, and a failed command is not a failed tool call', async () => {
    await using box = testShell({ sandbox: 'off', maxResultChars: 100 })
    writeFileSync(join(box.workspace, 'go.sh'), 'echo one; sleep 0.2; seq 1000; exit 4')
    const model = scriptedModel(script.tool('shell', { command: 'sh go.sh' }, 'It failed.'))
    const progressed: unknown[] = []
    for await (const event of agent({ model, tools: [box.box] }).stream('Go.')) {
      if (event.type === 'tool-progress') progressed.push(event.data)
      if (event.type !== 'tool-result') continue
      expect(event).toMatchObject({ status: 'ok', isError: false })
      expect(JSON.stringify(event.output)).toContain('\\n500\\n501\\n')
      expect(JSON.stringify(event.shown)).toMatch(/characters left out here.*\[exit code 4 after/)
    }
    expect(progressed[0]).toEqual({ output: 'one\n' })
  })

  test('explains invalid options', () => {
    const misuse = (options: unknown) => () => shell(options as ShellOptions)
    expect(misuse(undefined)).toThrow('shell() takes one object of options')
    expect(misuse({})).toThrow("shell({ workspace: '.' }) is the current folder")
    expect(misuse({ workspace: '/no/such/folder' })).toThrow("there is no folder '/no/such/folder'")
    expect(misuse({ workspace: '/etc/passwd' })).toThrow("'/etc/passwd' is a file")
    expect(misuse({ workspace: '.', timeout: 3 })).toThrow("did you mean 'timeoutMs'?")
    expect(misuse({ workspace: '.', timeoutMs: Number.POSITIVE_INFINITY })).toThrow('from 1 to 2147483647')
    expect(misuse({ workspace: '.', timeoutMs: 5, maxTimeoutMs: 4 })).toThrow(
      'must not be more than maxTimeoutMs',
    )
    expect(misuse({ workspace: '.', passEnv: 'HOME' })).toThrow('must be an array of non-empty strings')
    expect(misuse({ workspace: '.', env: { A: 1 } })).toThrow('must be an object of strings')
    expect(misuse({ workspace: '.', sandbox: true })).toThrow("must be 'auto' or 'required' or 'off'")
  })

  test('that is missing is explained', async () => {
    await using shell = testShell({ sandbox: 'off', program: '/no/such/shell' })
    await expect(shell.run({ command: 'true' })).rejects.toThrow('it is not installed')
  })

  test('can be another than bash', async () => {
    await using shell = testShell({ sandbox: 'off', program: '/bin/sh' })
    expect(await shell.run({ command: '-x; echo $0' })).toContain('/bin/sh\n')
  })

  test.runIf(modes.length > 1)('reports what its sandbox denied', async () => {
    await using shell = testShell({ sandbox: 'auto' })
    expect(await shell.run({ command: 'touch /usr/here' })).toContain('[The sandbox denied this')
    const { opaque } = await opaqueOf(shell.parts({ commands: ['touch /usr/here'] }))
    expect(opaque.data).toMatchObject([{ stderr: expect.stringContaining('[The sandbox denied this') }])
    const background = await shell.background('touch /usr/here', '[exit')
    expect(background).toContain('[The sandbox denied this')
    // The message is polled first, and the command ends later.
    const late = await shell.background('touch /usr/here || sleep 1; exit 1', '[exit')
    expect(late).toContain('[The sandbox denied this')
  })
})
