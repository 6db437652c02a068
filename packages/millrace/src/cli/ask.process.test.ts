import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ScriptRound } from '../testing/index.ts'
import { homeWith, linesOf, makeHome } from './cli.test-kit.ts'
import { toolsFile } from './tools.test-kit.ts'

const esc = String.fromCharCode(27)

describe.concurrent('a question', () => {
  test('the answer goes to stdout, and stderr stays empty', async () => {
    const home = await homeWith(['A millrace drives a wheel.'])
    expect(await home.run(['What is', 'a millrace?'])).toEqual({
      exit: 0,
      stdout: 'A millrace drives a wheel.\n',
      stderr: '',
    })
    expect(home.simulator.requests[0]?.body).toMatchObject({
      model: 'test-model',
      messages: [{ role: 'user', content: 'What is a millrace?' }],
    })
  })

  test('the answer streams: the first words arrive before the rest is generated', async () => {
    const home = await homeWith([[{ text: 'First words' }, { hang: true }]])
    const { child, see, ended } = home.start(['hello'])
    await see('First words')
    child.kill('SIGINT')
    await ended
  })

  test('in a pipe, a line separates retracted text from the text that replaces it', async () => {
    const home = await homeWith([[{ text: 'The answer is 4' }, { end: true }], 'The answer is 42.'])
    expect(await home.run(['hello', '--quiet'])).toEqual({
      exit: 0,
      stdout: 'The answer is 4\n[stream interrupted, answer restarts]\nThe answer is 42.\n',
      stderr: '',
    })
  })

  test('stdin is appended to the question, after a blank line', async () => {
    const home = await homeWith(['ok'])
    await home.run(['Summarize:'], { input: 'line one\nline two\n' })
    expect(home.simulator.requests[0]?.body).toMatchObject({
      messages: [{ role: 'user', content: 'Summarize:\n\nline one\nline two' }],
    })
  })

  test('stdin alone is the question', async () => {
    const home = await homeWith(['ok'])
    expect(await home.run([], { input: 'only this' })).toMatchObject({ exit: 0, stdout: 'ok\n' })
    expect(home.simulator.requests[0]?.body).toMatchObject({ messages: [{ content: 'only this' }] })
  })

  test('a stdin that stays open and silent is reported and waited for', async () => {
    const home = await homeWith(['ok'])
    const { child, see, ended } = home.start(['Summarize:'], { stdin: 'pipe' })
    await see('waiting for stdin to close')
    child.stdin?.end('at last')
    expect(await ended).toMatchObject({ exit: 0, stdout: 'ok\n' })
    expect(home.simulator.requests[0]?.body).toMatchObject({
      messages: [{ content: 'Summarize:\n\nat last' }],
    })
  })

  test('no question and an empty stdin is a usage error', async () => {
    const home = makeHome()
    expect(await home.run([], { input: ' \n' })).toMatchObject({
      exit: 2,
      stdout: '',
      stderr: expect.stringContaining('nothing to ask'),
    })
  })

  test('binary input is rejected before the model is called', async () => {
    const home = await homeWith([])
    const { exit, stderr } = await home.run(['what is this?'], {
      input: Buffer.from([0x89, 0x50, 0xff, 0xfe]),
    })
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: 'millrace: stdin is not UTF-8 text\n' })
    expect(home.simulator.requests).toHaveLength(0)
  })

  test('--system sets the system prompt', async () => {
    const home = await homeWith(['Arr.'])
    await home.run(['hi there', '--system', 'You are a pirate.'])
    expect(home.simulator.requests[0]?.body).toMatchObject({
      messages: [{ role: 'system', content: 'You are a pirate.' }, { role: 'user' }],
    })
  })

  test('control sequences are removed, however the stream is split', async () => {
    const nasty = `a${esc}[31mred${esc}]52;c;ZXZpbA==\u0007 \u009b2J\u202eb`
    for (const deltaChars of [1, 3, 1000]) {
      const home = await homeWith([nasty], { deltaChars })
      expect(await home.run(['hi there'])).toEqual({ exit: 0, stdout: 'ared b\n', stderr: '' })
    }
  })

  test('a reader that closes the pipe early is not an error, and the run is stopped', async () => {
    const endless = Array.from({ length: 1000 }, () => [{ text: 'more ' }, { pause: 30 }]).flat()
    const home = await homeWith([endless])
    const { child, stderr, ended } = home.start(['hello'])
    child.stdout?.once('data', () => child.stdout?.destroy())
    expect((await ended).exit).toBe(0)
    expect(stderr()).toBe('')
    const { stdout } = await home.run(['threads', '--json'])
    expect(linesOf(stdout)[0]).toMatchObject({ thread: { status: 'idle' } })
  })

  test('threads are stored in the XDG data directory, readable only by the user', async () => {
    const home = await homeWith(['a', 'b'])
    await home.run(['hello'])
    const path = join(home.folder, '.local', 'share', 'millrace', 'threads.db')
    expect(statSync(path).mode & 0o077).toBe(0)
    const xdg = join(home.folder, 'xdg')
    await home.run(['hello'], { env: { XDG_DATA_HOME: xdg } })
    expect(readFileSync(join(xdg, 'millrace', 'threads.db')).length).toBeGreaterThan(0)
  })
})

describe.concurrent('tools', () => {
  const calls = [[{ text: 'Let me look.' }, { call: 'look_up', input: { id: 'A' } }], 'It has shipped.']

  test('tools of a module are used, with a line for each call on stderr', async () => {
    const home = await homeWith(calls)
    home.write('tools.ts', toolsFile)
    const { exit, stdout, stderr } = await home.run(['where is A?', '--tools', 'tools.ts'])
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'Let me look.\n\nIt has shipped.\n' })
    expect(stderr).toMatch(/^\[look_up\] \{"id":"A"\}\n\[look_up\] done in \d+ ms\n$/)
  })

  test('--quiet leaves stderr empty', async () => {
    const home = await homeWith(calls)
    home.write('tools.ts', toolsFile)
    expect(await home.run(['where is A?', '--tools', 'tools.ts', '--quiet'])).toMatchObject({
      exit: 0,
      stderr: '',
    })
  })
})

describe.concurrent('--json', () => {
  test('prints one versioned event per line, without gaps, and the result as the last line', async () => {
    const home = await homeWith(['Hello you.'])
    const { exit, stdout } = await home.run(['hi there', '--json'])
    const lines = linesOf(stdout)
    const entries = lines.slice(0, -1) as unknown as { v: number; seq: number; event: { type: string } }[]
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1))
    expect(entries.map(({ event }) => event.type)).toEqual(
      expect.arrayContaining(['input', 'run-start', 'run-end']),
    )
    expect(lines.every(({ v }) => v === 1)).toBe(true)
    expect(lines.at(-1)).toMatchObject({
      result: {
        outcome: 'completed',
        text: 'Hello you.',
        usage: { outputTokens: expect.any(Number) },
        seq: 1,
      },
    })
    expect(exit).toBe(0)
  })

  test('includes a failure in the result', async () => {
    const home = await homeWith([[{ error: { status: 400, message: 'bad request' } }]])
    const { exit, stdout } = await home.run(['hi there', '--json'])
    expect(linesOf(stdout).at(-1)).toMatchObject({
      result: { outcome: 'failed', error: { code: 'llm_error' }, text: '' },
    })
    expect(exit).toBe(1)
  })

  test.each([
    ['no key', ['--json', 'hi'], 3],
    ['no such thread', ['--json', '--thread', 'missing', 'hi'], 2],
    ['no such model', ['--json', '--model', 'nowhere/x', 'hi'], 2],
  ])('ends with a result when there is %s', async (_, args, exit) => {
    // No local model listens there.
    const home = makeHome({ OLLAMA_HOST: 'http://127.0.0.1:9' })
    const ended = await home.run(args)
    expect(ended.exit).toBe(exit)
    expect(linesOf(ended.stdout).at(-1)).toMatchObject({ v: 1, result: { outcome: 'failed', error: {} } })
  })

  test('is not disturbed by what a tools file prints', async () => {
    const home = await homeWith(['fine'])
    const tools = home.write('loud.ts', `console.log('LOADING')\n${toolsFile}`)
    const { stdout, stderr } = await home.run(['--json', '--tools', tools, 'hi'])
    expect(linesOf(stdout).at(-1)).toMatchObject({ result: { text: 'fine' } })
    expect(stderr).toContain('LOADING')
  })
})

describe.concurrent('continuing', () => {
  test('--thread continues a thread, and the model gets its earlier messages', async () => {
    const home = await homeWith(['First answer.', 'Second answer.'])
    const first = linesOf((await home.run(['first question', '--json'])).stdout).at(-1) as unknown as Result
    const { threadId } = first.result
    expect(await home.run(['second question', '--thread', threadId])).toMatchObject({
      stdout: 'Second answer.\n',
    })
    expect(home.simulator.requests[1]?.body).toMatchObject({
      messages: [
        { role: 'user', content: 'first question' },
        { role: 'assistant', content: 'First answer.' },
        { role: 'user', content: 'second question' },
      ],
    })
  })

  test('--new creates a thread with a given id, once', async () => {
    const home = await homeWith(['one', 'two'])
    expect(await home.run(['hello', '--thread', 'notes', '--new'])).toMatchObject({
      exit: 0,
      stdout: 'one\n',
    })
    expect(await home.run(['hello', '--thread', 'notes', '--new'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("thread 'notes' already exists"),
    })
    expect(await home.run(['hello', '--thread', 'notes'])).toMatchObject({ exit: 0, stdout: 'two\n' })
  })

  test('a thread that does not exist is a usage error', async () => {
    const home = await homeWith(['one'])
    await home.run(['hello'])
    expect(await home.run(['hello', '--thread', 'nope'])).toEqual({
      exit: 2,
      stdout: '',
      stderr: "millrace: no thread 'nope'; list threads with millrace threads\n",
    })
  })

  interface Result {
    readonly result: { readonly threadId: string }
  }
})

describe.concurrent('exit codes', () => {
  test.each([
    [1, [{ error: { status: 400, message: 'no' } }], 'failed'],
    [3, [{ error: { status: 401, message: 'bad key' } }], 'a rejected key'],
    [
      4,
      [{ error: { status: 400, code: 'context_overflow', message: 'too long' } }],
      'a context that is too long',
    ],
    [4, [{ text: 'half' }, { finish: 'length' }], 'an answer that was cut off'],
  ] as const)('%i: %j, %s', async (exit, round, _) => {
    const home = await homeWith([round as ScriptRound])
    const ended = await home.run(['hello'])
    expect(ended.exit).toBe(exit)
    expect(ended.stderr).toMatch(/^millrace: .*\ncontinue with: millrace --thread \w+\n$/)
  })

  test('3: no key', async () => {
    const home = makeHome({ MILLRACE_MODEL: 'openai/gpt-5.5' })
    expect(await home.run(['hello'])).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining('OPENAI_API_KEY'),
    })
  })

  test('4: the round limit is reached', async () => {
    let id = 0
    const home = await homeWith(() => [{ call: 'look_up', input: { id: String(++id) } }])
    home.write('tools.ts', toolsFile)
    const { exit, stderr } = await home.run(['hello', '--tools', 'tools.ts'])
    expect(stderr).toContain('reached its round limit')
    expect(exit).toBe(4)
  })

  test('5: a timeout saves the partial answer and prints how to continue', async () => {
    const home = await homeWith([[{ text: 'Half a' }, { hang: true }]])
    const { exit, stdout, stderr } = await home.run(['hello', '--timeout', '1s'])
    expect({ exit, stdout }).toEqual({ exit: 5, stdout: 'Half a\n' })
    expect(stderr).toMatch(
      /^timed out after 1 s; the partial answer is saved\ncontinue with: millrace --thread \w+\n$/,
    )
  })

  test('5: the result of --json has the timeout too', async () => {
    const home = await homeWith([[{ hang: true }]])
    const { exit, stdout } = await home.run(['hello', '--timeout', '500ms', '--json'])
    expect(linesOf(stdout).at(-1)).toMatchObject({
      result: { outcome: 'canceled', error: { code: 'timeout' } },
    })
    expect(exit).toBe(5)
  })

  test('1: the database file cannot be opened', async () => {
    const home = makeHome({ MILLRACE_MODEL: 'simulator' })
    home.write('broken.db', 'not a database, but long enough to look like one: '.repeat(20))
    const { exit, stderr } = await home.run(['hello', '--data', 'broken.db'])
    expect(stderr).toMatch(/^millrace: .*broken\.db/)
    expect(exit).toBe(1)
  })
})

test('a full disk ends the answer at once, with the reason', async () => {
  const endless = Array.from({ length: 1000 }, () => [
    { text: 'more words '.repeat(20) },
    { pause: 10 },
  ]).flat()
  const home = await homeWith([endless])
  const { see, ended } = home.start(['hello', '--json'], { longestFileKb: 400 })
  await see('more words')
  const { exit, stdout, stderr } = await ended
  expect(linesOf(stdout).at(-1)).toMatchObject({
    result: { outcome: 'failed', error: { code: 'store_error' } },
  })
  expect(stderr).toMatch(/^millrace: .*threads\.db.*\n/)
  expect(exit).toBe(1)
})

describe.concurrent('interrupted', () => {
  const hanging = [[{ text: 'Half an answer' }, { hang: true } as const], 'Whole.']

  test('the first Ctrl-C cancels, saves, and prints how to continue', async () => {
    const home = await homeWith(hanging)
    const { child, see, ended } = home.start(['hello', '--system', "don't"])
    await see('Half an answer')
    child.kill('SIGINT')
    const { exit, stdout, stderr } = await ended
    expect({ exit, stdout }).toEqual({ exit: 130, stdout: 'Half an answer\n' })
    expect(stderr).toMatch(
      /^interrupted; the partial answer is saved\ncontinue with: millrace --thread (\w+) --system 'don'\\''t'\n$/,
    )
    await home.simulator.idle()
    const [, id = ''] = /--thread (\w+)/.exec(stderr) ?? []
    expect((await home.run(['show', id])).stdout).toContain('Half an answer')
    expect(await home.run(['and now?', '--thread', id])).toMatchObject({ exit: 0, stdout: 'Whole.\n' })
  })

  test('SIGTERM does the same, with its own exit code', async () => {
    const home = await homeWith(hanging)
    const { child, see, ended } = home.start(['hello'])
    await see('Half an answer')
    child.kill('SIGTERM')
    expect((await ended).exit).toBe(143)
  })

  test('a second signal exits at once, even while a tool runs', async () => {
    const home = await homeWith([[{ call: 'look_up', input: {} }]])
    home.write('tools.ts', toolsFile.replace(/run: .*/, 'run: () => new Promise(() => {}),'))
    const { child, see, ended } = home.start(['hello', '--tools', 'tools.ts'])
    await see('[look_up]')
    child.kill('SIGINT')
    await see('interrupted')
    child.kill('SIGINT')
    expect((await ended).exit).toBe(130)
  })

  test('kill -9 loses nothing: the next question continues from there', {
    timeout: 60_000,
  }, async () => {
    const home = await homeWith([
      [{ text: 'Half an answer' }, { hang: true }],
      'Generated again.',
      'And more.',
    ])
    const { child, see, ended } = home.start(['hello', '--thread', 'mine', '--new'])
    await see('Half an answer')
    child.kill('SIGKILL')
    await ended
    const { exit, stdout } = await home.run(['and?', '--thread', 'mine'])
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'And more.\n' })
    expect((await home.run(['show', 'mine'])).stdout).toMatch(/Generated again\..*And more\./s)
  })
})
