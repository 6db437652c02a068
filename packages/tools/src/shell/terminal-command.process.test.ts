import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type EditorOptions, testEditor } from '../editor.test-kit.ts'
import type { ClientTerminal } from '../workspace-client.ts'
import { modes, testShell, until } from './shell.test-kit.ts'
import type { ShellOptions } from './shell.ts'

function open(options: Partial<ShellOptions> = {}, editorOptions: EditorOptions = {}) {
  const shell = testShell({ sandbox: 'off', ...options })
  const editor = testEditor([shell.workspace], editorOptions)
  onTestFinished(() => shell[Symbol.asyncDispose]())
  const progress: unknown[] = []
  const report = (data: unknown) => void progress.push(data)
  return {
    ...shell,
    editor,
    progress,
    run: (input: unknown, more = {}) => shell.run(input, editor.context({ progress: report, ...more })),
    runIn: (other: typeof editor, input: unknown) => shell.run(input, other.context({ progress: report })),
    parts: (input: unknown) => shell.parts(input, editor.context({ progress: report })),
  }
}

const odd = `it's "quoted" $HOME \`date\` * ; & | < > \\ \t é`
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

describe.each(['program', 'shell'] as const)('in a terminal of an editor that starts a %s', (starts) => {
  test('a command runs as it was written', async () => {
    const { run, editor, progress } = open({}, { starts })
    const line = `printf '%s\\n' ${quoted(odd)} && echo $((1 + 1)) | cat; echo error >&2`
    expect(await run({ command: line })).toMatch(/\n\[exit code 0 after .*\]$/)
    const text = await run({ command: line })
    expect(text.split('\n').slice(0, -1).sort()).toEqual([odd, '2', 'error'].sort())
    expect(progress[0]).toEqual({ display: { terminal: 'term_1' } })
    expect(editor.terminals.map(({ released }) => released)).toEqual([true, true])
  })

  test('a command has the working directory and the environment of the shell tool, not the editor', async () => {
    const { run, workspace } = open({ env: { GIVEN: odd, 'odd-name': 'kept' } }, { starts })
    mkdirSync(join(workspace, 'sub'))
    const text = await run({ command: 'pwd; env', cwd: 'sub' })
    expect(text).toContain(`${workspace}/sub\n`)
    expect(text).toContain(`GIVEN=${odd}\n`)
    expect(text).toContain('odd-name=kept\n')
    expect(text).toContain('TERM=dumb\n')
    expect(text).not.toContain('EDITOR_SECRET')
  })

  test('a command runs although the folder for temporary files has an odd name', async () => {
    const { run, workspace } = open({}, { starts })
    const folder = join(workspace, "it's; a folder")
    mkdirSync(folder)
    vi.stubEnv('TMPDIR', folder)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await run({ command: 'echo hi' })).toMatch(/^hi\n\[exit code 0/)
  })

  test('stdin is empty', async () => {
    expect(await open({}, { starts }).run({ command: 'cat; echo done' })).toMatch(/^done\n/)
  })
})

describe('the result in a terminal', () => {
  test('has the exit code and the signal', async () => {
    const { run } = open()
    expect(await run({ command: 'exit 3' })).toMatch(/\(no output\)\n\[exit code 3 /)
    expect(await run({ command: 'kill -KILL $$' })).toContain('SIGKILL')
    expect(await run({ command: 'no-such-program' })).toMatch(/not found\n\[exit code 127 /)
  })

  test('of the calls of the Responses API has their format', async () => {
    const { parts } = open()
    const shown = async (input: unknown) =>
      (await parts(input)).map((part) => ('opaque' in part ? part.opaque : undefined))
    expect(await shown({ command: ['printf', '%s', odd], env: { A: 'b' } })).toEqual([
      { provider: 'shell', data: [{ stdout: odd, stderr: '', outcome: { type: 'exit', exit_code: 0 } }] },
    ])
    expect(await shown({ commands: ['echo 1', 'exit 2'] })).toMatchObject([
      { data: [{ stdout: '1' }, { outcome: { exit_code: 2 } }] },
    ])
  })

  test('is limited', async () => {
    const text = await open({ maxOutputBytes: 100 }).run({ command: 'seq 1000' })
    expect(text.length).toBeLessThan(400)
    expect(text).toContain('998\n999\n1000\n[exit code 0')
  })

  test('says that it took too long, and leaves no processes', async () => {
    const { run, left } = open()
    const text = await run({ command: 'echo begun; setsid sleep 60 & sleep 60', timeout_ms: 500 })
    expect(text).toMatch(/^begun\n\[stopped: it did not finish within 0.5 s/)
    expect(left()).toEqual([])
  })

  test('counts what the command left running, which is ended', async () => {
    const { run, left } = open()
    expect(await run({ command: 'setsid sleep 60 >/dev/null 2>&1 & echo done' })).toMatch(
      /^done\n\[a process that it left running was ended/,
    )
    expect(left()).toEqual([])
  })
})

describe('output of a terminal', () => {
  const outputs = (progress: readonly unknown[]) =>
    progress.map((data) => (data as { output?: string }).output ?? '').join('')

  test('arrives while the command runs', async () => {
    const { run, progress, workspace } = open()
    const running = run({ command: 'echo one; until [ -e go ]; do sleep 0.02; done; echo two' })
    await until(() => outputs(progress).includes('one'))
    expect(outputs(progress)).toBe('one\n')
    mkdirSync(join(workspace, 'go'))
    expect(await running).toMatch(/^one\ntwo\n\[exit/)
    expect(outputs(progress)).toBe('one\ntwo\n')
  })

  /** A terminal with these outputs, one for each time that it is asked; the last one after the exit. */
  function scripted(pages: readonly (readonly [output: string, truncated?: boolean])[]): EditorOptions {
    let asked = 0
    const exited = Promise.withResolvers<{ exitCode: number }>()
    const terminal: ClientTerminal = {
      id: 'term',
      async currentOutput() {
        const [output = '', truncated = false] = pages[Math.min(asked++, pages.length - 1)] ?? []
        if (asked === pages.length) exited.resolve({ exitCode: 0 })
        return { output, truncated }
      },
      waitForExit: () => exited.promise,
      kill: async () => {},
      release: async () => {},
    }
    return { offers: { createTerminal: async () => terminal } }
  }

  test('that the terminal rewrites is shown in its last form', async () => {
    const { run, progress } = open({}, scripted([['start\n10 %'], ['start\n99 %'], ['start\n99 %\ndone\n']]))
    expect(await run({ command: 'x' })).toMatch(/^start\n99 %\ndone\n\[exit code 0/)
    expect(outputs(progress)).toBe('start\n10 %99 %\ndone\n')
  })

  test('whose beginning was dropped is continued, with a mark where something is missing', async () => {
    const pages = [['a\nb\n'], ['b\nc\n', true], ['x\ny\n', true]] as const
    const { run } = open({}, scripted(pages))
    expect(await run({ command: 'x' })).toMatch(/^a\nb\nc\n\n\[…\]\nx\ny\n\[exit code 0/)
  })
})

describe('a canceled command in a terminal', () => {
  const line =
    '(setsid sh -c \'trap "" TERM; while :; do sleep 1; done\' >/dev/null 2>&1 &); while :; do echo more; sleep 0.01; done'

  test('leaves no processes, and its terminal is released', async () => {
    for (const moment of ['at once', 'later']) {
      const { run, left, editor } = open()
      const controller = new AbortController()
      const running = run({ command: line }, { signal: controller.signal })
      const rejection = expect(running).rejects.toThrow('enough')
      if (moment === 'later') await until(() => left().length > 1)
      controller.abort(new Error('enough'))
      await rejection
      await until(() => editor.terminals.every(({ released }) => released))
      expect(left()).toEqual([])
    }
  })

  test('is ended by closing the toolbox too', async () => {
    const { run, left, box } = open()
    const running = run({ command: line })
    await until(() => left().length > 1)
    await box.close()
    expect(await running).toContain('ended by')
    expect(left()).toEqual([])
  })

  test('does not wait for an editor that does not answer', async () => {
    const never = () => new Promise<never>(() => {})
    const silent = { id: 'term', currentOutput: never, waitForExit: never, kill: never, release: never }
    for (const createTerminal of [never, async () => silent]) {
      const { run } = open({}, { offers: { createTerminal } })
      const controller = new AbortController()
      const rejection = expect(run({ command: line }, { signal: controller.signal })).rejects.toThrow(
        'enough',
      )
      controller.abort(new Error('enough'))
      await rejection
    }
  })
})

describe('an editor that fails', () => {
  test('to open a terminal: the command is not run elsewhere', async () => {
    const createTerminal = async () => {
      throw new Error('the user refused')
    }
    const { run, workspace } = open({}, { offers: { createTerminal } })
    const before = scripts()
    await expect(run({ command: 'touch ran' })).rejects.toThrow(
      'The editor could not open a terminal: the user refused.',
    )
    expect(existsSync(join(workspace, 'ran'))).toBe(false)
    expect(scripts()).toEqual(before)
  })

  test('to answer in time: the model learns why nothing ran', async () => {
    const { run } = open({}, { offers: { createTerminal: () => new Promise(() => {}) } })
    await expect(run({ command: 'x', timeout_ms: 200 })).rejects.toThrow(
      'The editor did not open a terminal within 0.2 s.',
    )
  })

  test('while a command runs: the command ends with what it printed', async () => {
    const shell = open()
    const create = shell.editor.client.createTerminal
    const gone = Promise.withResolvers<never>()
    const editor = testEditor([shell.workspace], {
      offers: {
        createTerminal: async (command: never) => {
          const terminal = (await create?.(command)) as ClientTerminal
          return { ...terminal, waitForExit: () => gone.promise, release: () => gone.promise }
        },
      },
    })
    const running = shell.runIn(editor, { command: 'echo begun; sleep 60', timeout_ms: 60_000 })
    await until(() => shell.progress.length > 1)
    gone.reject(new Error('the connection was closed'))
    expect(await running).toMatch(
      /^begun\n\n\[the terminal of the editor was lost: the connection was closed\]\n\[ended by SIGHUP/,
    )
    expect(shell.left()).toEqual([])
  })
})

describe('the terminal of the editor is not used', () => {
  test.skipIf(!modes.includes('required'))('by a command in the sandbox', async () => {
    const { run, editor } = open({ sandbox: 'required' })
    expect(await run({ command: 'echo hi' })).toMatch(/^hi\n/)
    expect(editor.asked).toEqual([])
  })

  test('by a background command, nor without one', async () => {
    const { run, editor } = open()
    await run({ command: 'echo hi', background: true })
    expect(editor.asked).toEqual([])
    const without = open({}, { offers: { createTerminal: undefined } })
    expect(await without.run({ command: 'echo hi' })).toMatch(/^hi\n/)
  })

  test('for a folder outside of the editor', async () => {
    const shell = open()
    const { workspace } = shell
    mkdirSync(join(workspace, 'opened'))
    mkdirSync(join(workspace, 'other'))
    const editor = testEditor([join(workspace, 'opened')])
    await expect(shell.run({ command: 'pwd', cwd: '../outside' })).rejects.toThrow('inside the workspace')
    for (const cwd of ['other', 'opened']) {
      const input = { command: 'pwd', cwd }
      const text = await shell.runIn(editor, input)
      expect(text).toContain(join(workspace, cwd))
    }
    expect(editor.asked).toEqual(['terminal'])
  })
})

test('a folder that the editor opened through a link is passed as the editor knows it', async () => {
  const shell = open()
  const link = join(shell.workspace, 'link')
  mkdirSync(join(shell.workspace, 'real'))
  symlinkSync('real', link)
  const cwds: string[] = []
  const editor = testEditor([link], {
    offers: {
      createTerminal: async ({ cwd }: { cwd: string }) => {
        cwds.push(cwd)
        throw new Error('enough')
      },
    },
  })
  await expect(shell.runIn(editor, { command: 'pwd', cwd: 'real' })).rejects.toThrow('enough')
  expect(cwds).toEqual([link])
})

/** Folders of scripts that were not removed. */
function scripts(): string[] {
  return readdirSync(tmpdir()).filter((name) => existsSync(join(tmpdir(), name, 'command')))
}
