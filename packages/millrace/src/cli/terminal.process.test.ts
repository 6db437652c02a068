import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ScriptRound } from '../testing/index.ts'
import { hasTerminals, homeWith, openTerminal } from './cli.test-kit.ts'
import { ruledFile, toolsFile } from './tools.test-kit.ts'

const needsScript = "terminals are tested with util-linux' script: apt-get install bsdutils"
const skip = !hasTerminals && !process.env.CI
if (skip) process.stderr.write(`skipped: ${needsScript}\n`)

const esc = String.fromCharCode(27)
const colour = new RegExp(`${esc}\\[[0-9;]*m`)
const retracted: ScriptRound = [{ text: 'The answer is 4' }, { end: true }]
const asksFirst = [[{ text: 'Money goes out.' }, { call: 'refund', input: { id: 'A' } }], 'It is done.']

describe.concurrent('a question in a terminal', { skip }, () => {
  beforeAll(() => {
    if (!hasTerminals) throw new Error(needsScript)
  })

  test('is answered in Markdown, with a line for each call, and how to go on', async () => {
    const home = await homeWith([
      [{ text: 'Let me **look**.' }, { call: 'look_up', input: { id: 'A' } }],
      '# Found\n\n- it has `shipped`\n',
    ])
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['where is A?', '--tools', 'tools.ts'])
    await terminal.see('Let me look.')
    await terminal.see(/✓ look_up \{"id":"A"\} · done/)
    await terminal.see('Found')
    await terminal.see('• it has shipped')
    await terminal.see(/to go on: millrace --thread \w+ --tools tools.ts/)
    expect((await terminal.ended).exit).toBe(0)
    expect(terminal.output()).toMatch(colour)
  })

  test('has no colours with NO_COLOR', async () => {
    const home = await homeWith(['Some **bold** words.'])
    const terminal = openTerminal(home, ['hi there'], { env: { NO_COLOR: '1' } })
    await terminal.see('Some **bold** words.')
    expect((await terminal.ended).exit).toBe(0)
    expect(terminal.output()).not.toMatch(colour)
  })

  test('is plain in a terminal that can do nothing', async () => {
    const home = await homeWith(['Some **bold** words.'])
    const terminal = openTerminal(home, ['hi there'], { env: { TERM: 'dumb' } })
    await terminal.see('Some **bold** words.')
    await terminal.ended
    expect(terminal.output()).not.toContain(esc)
  })

  test('is plain where stdout is a pipe, also with colours forced upon stderr', async () => {
    const home = await homeWith(['Some **bold** words.'])
    const terminal = openTerminal(home, ['hi there'], { shell: '> out.txt', env: { FORCE_COLOR: '1' } })
    await terminal.see('to go on')
    await terminal.ended
    expect(terminal.output()).toMatch(colour)
    expect(readFileSync(join(home.folder, 'out.txt'), 'utf8')).toBe('Some **bold** words.\n')
  })

  test('holds no retracted words where stdout is a file', async () => {
    const home = await homeWith([retracted, 'The answer is 42.'])
    const terminal = openTerminal(home, ['hi there'], { shell: '> out.txt' })
    await terminal.see('taken back and told again')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'out.txt'), 'utf8')).toBe('The answer is 42.\n')
  })

  test.each([
    ['with --quiet', ['--quiet'], {}, /taken back and told again/],
    ['in one that can do nothing', [], { TERM: 'dumb' }, /taken back and told again/],
    [
      'in one that can do nothing, with --quiet',
      ['--quiet'],
      { TERM: 'dumb' },
      /\[stream interrupted, answer restarts\]/,
    ],
  ])('says so where words are retracted: %s', async (_, flags, env, says) => {
    const home = await homeWith([retracted, 'The answer is 42.'])
    const terminal = openTerminal(home, ['hi there', ...flags], { env })
    await terminal.see('The answer is 4')
    await terminal.see(says)
    await terminal.see('The answer is 42.')
    expect((await terminal.ended).exit).toBe(0)
  })

  test('is an error where stdout cannot be written, other than by a reader that has gone', async () => {
    const home = await homeWith(['Some words.'])
    const terminal = openTerminal(home, ['hi there'], { shell: '> /dev/full' })
    await terminal.see('stdout cannot be written: ENOSPC')
    expect((await terminal.ended).exit).toBe(1)
  })

  test('asks the person before a call that needs one, and goes on', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A', '--tools', 'tools.ts'])
    await terminal.see('Refund A? [y/N, or why not] ')
    expect(existsSync(join(home.folder, 'refunds.txt'))).toBe(false)
    terminal.type('y\r')
    await terminal.see(/✓ refund .*done/)
    await terminal.see('It is done.')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'refunds.txt'), 'utf8')).toBe('A\n')
  })

  test('does not ask again what was allowed in the thread', async () => {
    const calls = ['A', 'A'].map((id) => [{ call: 'refund', input: { id } }])
    const home = await homeWith([...calls, 'Twice.'])
    home.write('tools.ts', ruledFile)
    const terminal = openTerminal(home, ['refund A twice', '--tools', 'tools.ts'])
    await terminal.see(
      'refund {"id":"A"}: it would write `A`. Allow it? [y/t in this thread/a always: write(A)/N, or why not] ',
    )
    terminal.type('t\r')
    await terminal.see('Twice.')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'refunds.txt'), 'utf8')).toBe('A\nA\n')
  })

  test('asks about one call after the other', async () => {
    const calls = ['A', 'B'].map((id) => ({ call: 'refund', input: { id } }))
    const home = await homeWith([calls, 'Both are decided.'])
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A and B', '--tools', 'tools.ts'])
    await terminal.see('Refund A? [y/N, or why not] ')
    terminal.type('n\r')
    await terminal.see('Refund B? [y/N, or why not] ')
    terminal.type('yes\r')
    await terminal.see('Both are decided.')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'refunds.txt'), 'utf8')).toBe('B\n')
  })

  test('tells the model why the person said no', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A', '--tools', 'tools.ts'])
    await terminal.see('why not] ')
    terminal.type('far too dear\r')
    await terminal.see('It is done.')
    await terminal.ended
    expect(existsSync(join(home.folder, 'refunds.txt'))).toBe(false)
    expect(JSON.stringify(home.simulator.requests[1]?.body)).toContain('far too dear')
  })

  test('Ctrl-C at the question stops the run', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A', '--tools', 'tools.ts'])
    await terminal.see('why not] ')
    terminal.type('\x03')
    await terminal.see('interrupted; what was said is kept')
    expect((await terminal.ended).exit).toBe(130)
    expect(existsSync(join(home.folder, 'refunds.txt'))).toBe(false)
  })

  test('Ctrl-C stops an answer, keeps what was said, and says how to go on', async () => {
    const home = await homeWith([[{ text: 'Half an answer' }, { hang: true }]])
    const terminal = openTerminal(home, ['hello'])
    await terminal.see('Half an answer')
    terminal.type('\x03')
    await terminal.see('interrupted; what was said is kept')
    await terminal.see(/to go on: millrace --thread \w+/)
    expect((await terminal.ended).exit).toBe(130)
  })

  test('orders to the terminal do not come through the words of the model', async () => {
    const home = await homeWith([`a${esc}]0;owned\u0007b${esc}[2J${esc}[31mc\u202e`])
    const terminal = openTerminal(home, ['hi there'])
    await terminal.see('abc')
    await terminal.ended
    expect(terminal.output()).not.toContain('owned')
    expect(terminal.output()).not.toContain(`${esc}[2J`)
  })
})

describe.concurrent('no question in a terminal', { skip }, () => {
  test('is a chat', async () => {
    const home = await homeWith(['Hello to you.'])
    const terminal = openTerminal(home, [])
    await terminal.see('/help')
    terminal.type('hi there\r')
    await terminal.see('Hello to you.')
    terminal.type('\x04')
    await terminal.see(/to go on: millrace --thread \w+/)
    expect((await terminal.ended).exit).toBe(0)
  })

  test('goes on with a thread that was begun with a question', async () => {
    const home = await homeWith(['First answer.', 'Second answer.'])
    await home.run(['first question', '--thread', 'mine', '--new'])
    const terminal = openTerminal(home, ['--thread', 'mine'])
    await terminal.see('First answer.')
    terminal.type('second question\r')
    await terminal.see('Second answer.')
    terminal.type('\x04')
    await terminal.see('to go on: millrace --thread mine')
    expect((await terminal.ended).exit).toBe(0)
    expect(home.simulator.requests[1]?.body).toMatchObject({
      messages: [{}, {}, { content: 'second question' }],
    })
  })

  test('answers with another model once it is told to', async () => {
    const home = await homeWith(['From the first.'])
    const terminal = openTerminal(home, [])
    await terminal.see('/help')
    terminal.type('hi there\r')
    await terminal.see('From the first.')
    terminal.type('/model simulator\r')
    await terminal.see('simulator')
    terminal.type('and you?\r')
    await terminal.see('I am only a simulator')
    terminal.type('\x04')
    expect((await terminal.ended).exit).toBe(0)
    expect(home.simulator.requests).toHaveLength(1)
  })

  test('is a mistake where stdout is a file, and so is a flag that only questions take', async () => {
    const home = await homeWith([])
    const piped = openTerminal(home, [], { shell: '> out.txt' })
    await piped.see('there is no question')
    expect((await piped.ended).exit).toBe(2)
    const timed = openTerminal(home, ['--timeout', '5s'])
    await timed.see('--timeout is for a question, and there is none')
    expect((await timed.ended).exit).toBe(2)
  })
})
