import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sqliteStore } from '../log/sqlite.ts'
import { readTranscript } from '../protocol/index.ts'
import { play } from '../threads/test-script/test-script.test-kit.ts'
import type { Home } from './cli.test-kit.ts'
import { homeWith, linesOf, makeHome } from './cli.test-kit.ts'
import { openThread } from './open-threads.ts'
import { clientToolFile, ruledFile, toolsFile } from './tools.test-kit.ts'

const asksFirst = [
  [{ text: 'Money goes out.' }, { call: 'refund', input: { id: 'A' } }],
  'It is done.',
] as const

/** A thread `mine` with a refund that waits for approval. */
async function waiting(script: readonly (string | readonly object[])[] = asksFirst, file = toolsFile) {
  const home = await homeWith(script as never)
  home.write('tools.ts', file)
  const ended = await home.run(['refund A', '--tools', 'tools.ts', '--thread', 'mine', '--new'])
  return { home, ended }
}

const dataFile = ({ folder }: Home) => join(folder, '.local/share/millrace/threads.db')

const refunds = ({ folder }: Home) => {
  const file = join(folder, 'refunds.txt')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

describe.concurrent('a pending tool call', () => {
  test('suspends the run without a terminal, and prints how to decide', async () => {
    const { home, ended } = await waiting()
    expect(ended).toMatchObject({ exit: 6, stdout: 'Money goes out.\n' })
    const [, callId] = /approve mine (\S+)/.exec(ended.stderr) ?? []
    expect(ended.stderr).toContain(
      [
        'refund is waiting for approval: Refund A?',
        `  to approve: millrace approve mine ${callId} --tools tools.ts`,
        `  to deny:    millrace approve mine ${callId} --deny reason --tools tools.ts\n`,
      ].join('\n'),
    )
    expect(refunds(home)).toBe('')
  })

  test('runs when it is approved, and the answer continues', async () => {
    const { home, ended } = await waiting()
    const [, command = ''] = /to approve: +millrace (.*)/.exec(ended.stderr) ?? []
    const { exit, stdout, stderr } = await home.run(command.split(' '))
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'It is done.\n' })
    expect(stderr).toMatch(/\[refund\] done in/)
    expect(refunds(home)).toBe('A\n')
    expect(await home.run(['approve', 'mine', '--tools', 'tools.ts'])).toMatchObject({
      exit: 1,
      stderr: "millrace: no tool call in thread 'mine' is waiting for approval\n",
    })
  })

  test('is always allowed with --remember always, also in the next thread', async () => {
    const { home, ended } = await waiting([...asksFirst, ...asksFirst, ...asksFirst], ruledFile)
    expect(ended.stderr).toContain('refund is waiting for approval: refund {"id":"A"}: Write `A`?')
    const command = (how: string) => new RegExp(`to approve ${how}: millrace (.*)`).exec(ended.stderr)?.[1]
    expect(command('in this thread')).toMatch(/^approve mine \S+ --remember thread --tools tools.ts$/)
    for (const [remember, problem] of [
      ['ever', "--remember must be thread or always, not 'ever'"],
      ['thread', '--deny and --remember cannot be combined'],
    ] as const) {
      const wrong = ['approve', 'mine', '--remember', remember, '--tools', 'tools.ts']
      expect(await home.run(remember === 'thread' ? [...wrong, '--deny', 'no'] : wrong)).toMatchObject({
        exit: 2,
        stderr: expect.stringContaining(problem),
      })
    }
    const always = command('always')?.split(' ') as string[]
    expect(await home.run(always)).toMatchObject({ exit: 0, stdout: 'It is done.\n' })
    expect(readFileSync(join(home.folder, 'rules.json'), 'utf8')).toContain('write(A)')
    const next = await home.run(['refund A', '--tools', 'tools.ts'])
    expect(next).toMatchObject({ exit: 0, stdout: expect.stringContaining('It is done.') })
    expect(refunds(home)).toBe('A\nA\n')
    expect((await home.run(['show', 'mine'])).stdout).toContain('(approved always)')
  })

  test('does not run when it is denied, and the model gets the reason', async () => {
    const { home } = await waiting()
    const ended = await home.run(['approve', 'mine', '--deny', 'too expensive', '--tools', 'tools.ts'])
    expect(ended).toMatchObject({ exit: 0, stdout: 'It is done.\n' })
    expect(refunds(home)).toBe('')
    expect(JSON.stringify(home.simulator.requests[1]?.body)).toContain('too expensive')
  })

  test('runs with other arguments if --input gives them', async () => {
    const { home } = await waiting()
    await home.run(['approve', 'mine', '--input', '{"id":"B"}', '--tools', 'tools.ts'])
    expect(refunds(home)).toBe('B\n')
  })

  test('cannot be decided by a command without its tool', async () => {
    const { home } = await waiting()
    expect(await home.run(['approve', 'mine'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(
        "uses the tool 'refund', which is not loaded: pass the same --tools FILE",
      ),
    })
    expect(await home.run(['approve', 'mine', '--tools', 'tools.ts'])).toMatchObject({ exit: 0 })
  })

  test('with --json prints every event since the decision, and the result', async () => {
    const { home } = await waiting()
    const { stdout, exit } = await home.run(['approve', 'mine', '--tools', 'tools.ts', '--json'])
    const lines = linesOf(stdout)
    expect(lines.at(-1)).toMatchObject({
      result: { outcome: 'completed', text: 'It is done.', threadId: 'mine' },
    })
    expect(lines[0]).toMatchObject({ event: { type: 'approval', approved: true } })
    const numbers = lines.slice(0, -1).map(({ seq }) => Number(seq))
    expect(numbers).toEqual(numbers.map((_, index) => Number(numbers[0]) + index))
    expect(exit).toBe(0)
  })

  test('can be one of several, which are decided one by one', async () => {
    const calls = ['A', 'B'].map((id) => ({ call: 'refund', input: { id } }))
    const { home, ended } = await waiting([calls, 'Both are done.'])
    const [first = '', second = ''] = [
      ...ended.stderr.matchAll(/to approve: +millrace approve mine (\S+)/g),
    ].map(([, callId]) => callId)
    expect(await home.run(['approve', 'mine', '--tools', 'tools.ts'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(`name one: ${first} (refund), ${second} (refund)`),
    })
    const one = await home.run(['approve', 'mine', first, '--tools', 'tools.ts'])
    expect(one).toMatchObject({
      exit: 6,
      stdout: '',
      stderr: expect.stringContaining(`approve mine ${second}`),
    })
    expect(one.stderr).not.toContain(`approve mine ${first}`)
    expect(refunds(home)).toBe('A\n')
    expect(await home.run(['approve', 'mine', second, '--tools', 'tools.ts'])).toMatchObject({
      exit: 0,
      stdout: 'Both are done.\n',
    })
    expect(refunds(home)).toBe('A\nB\n')
  })

  test('blocks other questions in its thread, which is reported at once', async () => {
    const { home } = await waiting()
    const { exit, stderr } = await home.run(['and B?', '--thread', 'mine', '--tools', 'tools.ts'])
    expect(stderr).toContain('refund is waiting for approval: Refund A?')
    expect(exit).toBe(6)
    expect(home.simulator.requests).toHaveLength(1)
  })

  test('is canceled when the thread is stopped', async () => {
    const { home } = await waiting()
    expect(await home.run(['stop', 'mine'])).toMatchObject({
      exit: 0,
      stderr: "stopped thread 'mine'\n",
    })
    expect(linesOf((await home.run(['threads', '--json'])).stdout)).toMatchObject([
      { thread: { id: 'mine', status: 'idle', outcome: 'canceled' } },
    ])
    expect((await home.run(['threads'])).stdout).toMatch(/^mine .* stopped {2}/)
    expect(await home.run(['stop', 'mine'])).toMatchObject({
      exit: 0,
      stderr: expect.stringContaining('not running'),
    })
  })
})

describe.concurrent('a tool call that a client runs', () => {
  const picking = (answer: string) => [[{ call: 'pick', input: { of: 'sky' } }], answer]
  const tools = ['--tools', 'tools.ts']

  async function unanswered() {
    const { home, ended } = await waiting(picking('So be it.'), clientToolFile)
    const [, callId = ''] = /respond mine (\S+)/.exec(ended.stderr) ?? []
    return { home, ended, callId }
  }

  test('suspends the run, and prints how to respond', async () => {
    const { ended, home, callId } = await unanswered()
    expect(ended.exit).toBe(6)
    expect(ended.stderr).toContain(
      [
        'pick is waiting for a result from a client: {"of":"sky"}',
        `  to respond: millrace respond mine ${callId} RESULT --tools tools.ts`,
        `  to deny:    millrace approve mine ${callId} --deny reason --tools tools.ts\n`,
      ].join('\n'),
    )
    expect(ended.stderr).not.toContain('to approve')
    expect((await home.run(['show', 'mine'])).stdout).toContain(
      '(pick is waiting for a result from a client: {"of":"sky"})',
    )
    const asked = await home.run(['and now?', '--thread', 'mine', ...tools])
    expect(asked).toMatchObject({
      exit: 6,
      stderr: expect.stringContaining('waiting for a result from a client'),
    })
  })

  test('gets its result as JSON or text, and the answer continues', async () => {
    for (const [words, result] of [
      [['{"color": "red"}'], '{\\"color\\":\\"red\\"}'],
      [['call', 'dark red'], 'dark red'],
      [['no color', '--failed'], 'no color'],
    ] as const) {
      const { home, callId } = await unanswered()
      const given = words.map((word) => (word === 'call' ? callId : word))
      const ended = await home.run(['respond', 'mine', ...given, ...tools])
      expect(ended).toMatchObject({ exit: 0, stdout: 'So be it.\n' })
      expect(JSON.stringify(home.simulator.requests[1]?.body)).toContain(result)
      const { entries } = JSON.parse((await home.run(['export', 'mine', '--format', 'json'])).stdout)
      const results = entries.filter(({ event }: { event: { type: string } }) => event.type === 'tool-result')
      expect(results).toMatchObject([{ event: { isError: words.some((word) => word === '--failed') } }])
    }
  })

  test('cannot be approved, but denied', async () => {
    const { home, callId } = await unanswered()
    for (const words of [[], [callId]])
      expect(await home.run(['approve', 'mine', ...words, ...tools])).toMatchObject({
        exit: 2,
        stderr: expect.stringContaining(
          `'${callId}' (pick) in thread 'mine' is waiting for a result; use millrace respond`,
        ),
      })
    const denied = await home.run(['approve', 'mine', '--deny', 'no colors', ...tools])
    expect(denied).toMatchObject({ exit: 0, stdout: 'So be it.\n' })
    expect(JSON.stringify(home.simulator.requests[1]?.body)).toContain('no colors')
  })

  test('is the only kind of call that takes a result', async () => {
    const { home } = await waiting()
    expect(await home.run(['respond', 'mine', 'refunded', ...tools])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('is waiting for approval; use millrace approve'),
    })
    expect(await home.run(['respond', 'mine'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('millrace respond mine RESULT'),
    })
  })
})

describe.concurrent('threads', () => {
  test('are listed with their titles, most recent first', async () => {
    const home = await homeWith(['a', 'b', 'c'])
    for (const id of ['first', 'second', 'third'])
      await home.run([`question of the ${id}`, '--thread', id, '--new'])
    const { exit, stdout } = await home.run(['threads'])
    expect(stdout.trimEnd().split('\n')).toEqual(
      ['third', 'second', 'first'].map((id) =>
        expect.stringMatching(
          `^${id} +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  idle     cli  question of the ${id}$`,
        ),
      ),
    )
    expect(exit).toBe(0)
    const json = linesOf((await home.run(['threads', '--json', '--limit', '1'])).stdout)
    expect(json).toEqual([
      { v: 1, thread: expect.objectContaining({ id: 'third', title: 'question of the third' }) },
    ])
    const found = await home.run(['threads', '--search', 'SECOND question', '--json'])
    expect(linesOf(found.stdout)).toMatchObject([{ thread: { id: 'second' } }])
    expect(await home.run(['threads', '--search', 'fourth'])).toMatchObject({
      exit: 0,
      stdout: '',
      stderr: 'no thread contains all of these words\n',
    })
    expect(await home.run(['threads', '--search', ' '])).toMatchObject({ exit: 2 })
  })

  test('say that their last run failed', async () => {
    const home = await homeWith([[{ error: { status: 400, message: 'bad request' } }]])
    await home.run(['Hello', '--thread', 'mine', '--new'])
    expect((await home.run(['threads'])).stdout).toMatch(/^mine .* failed {3}/)
  })

  test('a missing database file is reported, and not created', async () => {
    const home = makeHome()
    expect(await home.run(['threads', '--data', 'none.db'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('no threads yet at'),
    })
    expect(existsSync(join(home.folder, 'none.db'))).toBe(false)
  })

  test.each([['show'], ['export'], ['stop'], ['delete'], ['approve'], ['respond']])(
    '%s needs a thread id',
    async (command) => {
      const home = makeHome()
      expect(await home.run([command])).toMatchObject({
        exit: 2,
        stderr: `millrace: millrace ${command} needs a thread id; list threads with millrace threads\n`,
      })
    },
  )
})

describe.concurrent('one thread', () => {
  async function talked() {
    const home = await homeWith([
      [{ text: 'Let me look.' }, { call: 'look_up', input: { id: 'A' } }],
      'It has **shipped**.',
      'You are welcome.',
      'Any time.',
    ])
    home.write('tools.ts', toolsFile)
    await home.run(['Where is A?', '--tools', 'tools.ts', '--thread', 'mine', '--new'])
    await home.run(['Thanks!', '--thread', 'mine'])
    return home
  }

  test('is replayed with the same text, at once or with --pace', async () => {
    const home = await talked()
    const { exit, stdout, stderr } = await home.run(['show', 'mine'])
    expect(stdout.replace(/\d+ ms/, '5 ms')).toBe(
      [
        'you › Where is A?',
        '',
        'Let me look.',
        '[look_up] {"id":"A"}',
        '[look_up] done in 5 ms',
        '',
        'It has **shipped**.',
        '',
        'you › Thanks!',
        '',
        'You are welcome.',
        '',
      ].join('\n'),
    )
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    const paced = await home.run(['show', 'mine', '--pace'])
    expect(paced).toMatchObject({ exit: 0, stdout })
  })

  test('shows its current conversation after it was rewound', async () => {
    const home = await talked()
    const { app, thread } = await openThread({ data: dataFile(home) }, 'mine')
    const input = (await thread.read()).findLast(({ event }) => event.type === 'input')
    await thread.rewind(input?.seq ?? 0)
    await app.close()
    await home.run(['Thanks a lot!', '--thread', 'mine'])
    const { stdout } = await home.run(['show', 'mine'])
    expect(stdout).toContain('It has **shipped**.\n\nyou › Thanks a lot!\n\nAny time.\n')
    expect(stdout).not.toMatch(/Thanks!|welcome|went back/)
    expect((await home.run(['show', 'mine', '--pace'])).stdout).toMatch(
      /You are welcome\.[\s\S]*\(went back in the conversation\)[\s\S]*Any time\./,
    )
    const { stdout: markdown } = await home.run(['export', 'mine'])
    expect(markdown).toContain('Any time.')
    expect(markdown).not.toContain('welcome')
  })

  test('is replayed as JSON with every number once', async () => {
    const home = await talked()
    const lines = linesOf((await home.run(['show', 'mine', '--json', '--pace'])).stdout)
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1))
  })

  test('is exported as Markdown', async () => {
    const home = await talked()
    const { exit, stdout } = await home.run(['export', 'mine'])
    expect(stdout).toMatch(
      /^# Thread mine\n\nagent cli · started .* · \d+ tokens in, \d+ out\n\n## You\n\nWhere is A\?\n/,
    )
    expect(stdout).toContain(
      '## Assistant\n\nLet me look.\n\n**look_up**\n\n```json\n{\n  "id": "A"\n}\n```\n',
    )
    expect(stdout).toContain('### look_up\n\n```json\n{\n  "id": "A",\n  "status": "shipped"\n}\n```\n')
    expect(stdout).toMatch(
      /It has \*\*shipped\*\*\.\n\n## You\n\nThanks!\n\n## Assistant\n\nYou are welcome\.\n$/,
    )
    expect(exit).toBe(0)
  })

  test('is exported as JSON, a transcript with its log', async () => {
    const home = await talked()
    const { exit, stdout } = await home.run(['export', 'mine', '--format', 'json'])
    expect(readTranscript(stdout).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ])
    const { thread, entries } = JSON.parse(stdout)
    expect(thread).toMatchObject({ id: 'mine', agent: 'cli' })
    expect(entries[0]).toMatchObject({ seq: 1, event: { type: 'input' } })
    expect(exit).toBe(0)
    expect(await home.run(['export', 'mine', '--format', 'pdf'])).toMatchObject({
      exit: 2,
      stderr: "millrace: --format must be one of md, json, html, test, not 'pdf'\n",
    })
  })

  test('is exported as a test that replays it', async () => {
    const home = await talked()
    const { exit, stdout } = await home.run(['export', 'mine', '--format', 'test'])
    expect(stdout).toContain("test('Where is A?', async () => {")
    expect(await play(stdout)).toBe('Where is A?')
    expect(exit).toBe(0)
  })

  test('no longer exists after it is deleted', async () => {
    const home = await talked()
    expect(await home.run(['delete', 'mine'])).toMatchObject({
      exit: 0,
      stderr: "deleted thread 'mine'\n",
    })
    expect(await home.run(['show', 'mine'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("no thread 'mine'"),
    })
  })

  test('is deleted with all others of its user', async () => {
    const home = await talked()
    const store = sqliteStore(dataFile(home))
    for (const id of ['hers', 'too']) await store.create({ id, agent: 'cli', user: 'ada' })
    await store.close()
    expect(await home.run(['delete', 'mine', '--user', 'ada'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('takes a thread id or --user, not both'),
    })
    expect(await home.run(['delete', '--user', 'ada'])).toMatchObject({
      exit: 0,
      stderr: "deleted 2 threads of user 'ada'\n",
    })
    const { stdout } = await home.run(['threads'])
    expect(stdout).toContain('mine')
    expect(stdout).not.toMatch(/hers|too/)
  })

  test('can be stopped by another process while it answers', async () => {
    const home = await homeWith([[{ text: 'Half an answer' }, { hang: true }]])
    const asking = home.start(['hello', '--thread', 'mine', '--new'])
    await asking.see('Half an answer')
    expect(await home.run(['stop', 'mine'])).toMatchObject({ exit: 0 })
    const { exit, stderr } = await asking.ended
    expect(stderr).toContain('stopped from the command line')
    expect(exit).toBe(130)
  })

  test('is not claimed by a command for another thread', async () => {
    const home = await homeWith(['An answer.', 'Another.'])
    const file = join(home.folder, 'shared.db')
    const store = sqliteStore(file)
    await store.create({ id: 'left', agent: 'cli' })
    const message = { role: 'user', content: 'left behind' } as const
    await store.signal('left', crypto.randomUUID(), { type: 'input', message, mode: 'queue' })
    expect(await home.run(['a question', '--data', file])).toMatchObject({ stdout: 'An answer.\n' })
    await home.run(['threads', '--data', file])
    await home.run(['show', 'left', '--data', file])
    expect((await store.get('left'))?.status).toBe('queued')
    await store.close()
    expect(home.simulator.requests).toHaveLength(1)
  })
})

test('--version and --help work without a model', async () => {
  const home = makeHome()
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await home.run(['--version'])).toEqual({ exit: 0, stdout: `${version}\n`, stderr: '' })
  expect(await home.run(['--help'])).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('millrace "question"'),
  })
  expect(await home.run(['help', 'serve'])).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('--port'),
  })
})
