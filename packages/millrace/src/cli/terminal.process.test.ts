import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ScriptRound } from '../testing/index.ts'
import { hasTerminals, homeWith, openTerminal } from './cli.test-kit.ts'
import { ruledFile, toolsFile } from './tools.test-kit.ts'

const needsScript = 'these tests need script of util-linux: apt-get install bsdutils'
const skip = !hasTerminals && !process.env.CI
if (skip) process.stderr.write(`skipped: ${needsScript}\n`)

const esc = String.fromCharCode(27)
const color = new RegExp(`${esc}\\[[0-9;]*m`)
const retracted: ScriptRound = [{ text: 'The answer is 4' }, { end: true }]
const asksFirst = [[{ text: 'Money goes out.' }, { call: 'refund', input: { id: 'A' } }], 'It is done.']

describe.concurrent('a question in a terminal', { skip }, () => {
  beforeAll(() => {
    if (!hasTerminals) throw new Error(needsScript)
  })

  test('is answered in Markdown, with a line for each tool call and how to continue', async () => {
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
    await terminal.see(/continue with: millrace --thread \w+ --tools tools.ts/)
    expect((await terminal.ended).exit).toBe(0)
    expect(terminal.output()).toMatch(color)
  })

  test('has no colors with NO_COLOR', async () => {
    const home = await homeWith(['Some **bold** words.'])
    const terminal = openTerminal(home, ['hi there'], { env: { NO_COLOR: '1' } })
    await terminal.see('Some **bold** words.')
    expect((await terminal.ended).exit).toBe(0)
    expect(terminal.output()).not.toMatch(color)
  })

  test('is plain in a dumb terminal', async () => {
    const home = await homeWith(['Some **bold** words.'])
    const terminal = openTerminal(home, ['hi there'], { env: { TERM: 'dumb' } })
    await terminal.see('Some **bold** words.')
    await terminal.ended
    expect(terminal.output()).not.toContain(esc)
  })

  test('is plain if stdout is a file, even with FORCE_COLOR for stderr', async () => {
    const home = await homeWith(['Some **bold** words.'])
    const terminal = openTerminal(home, ['hi there'], { shell: '> out.txt', env: { FORCE_COLOR: '1' } })
    await terminal.see('continue with')
    await terminal.ended
    expect(terminal.output()).toMatch(color)
    expect(readFileSync(join(home.folder, 'out.txt'), 'utf8')).toBe('Some **bold** words.\n')
  })

  test('has no retracted text if stdout is a file', async () => {
    const home = await homeWith([retracted, 'The answer is 42.'])
    const terminal = openTerminal(home, ['hi there'], { shell: '> out.txt' })
    await terminal.see('retracted, generating it again')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'out.txt'), 'utf8')).toBe('The answer is 42.\n')
  })

  test.each([
    ['with --quiet', ['--quiet'], {}, /retracted, generating it again/],
    ['in a dumb terminal', [], { TERM: 'dumb' }, /retracted, generating it again/],
    [
      'in a dumb terminal, with --quiet',
      ['--quiet'],
      { TERM: 'dumb' },
      /\[stream interrupted, answer restarts\]/,
    ],
  ])('marks retracted text: %s', async (_, flags, env, says) => {
    const home = await homeWith([retracted, 'The answer is 42.'])
    const terminal = openTerminal(home, ['hi there', ...flags], { env })
    await terminal.see('The answer is 4')
    await terminal.see(says)
    await terminal.see('The answer is 42.')
    expect((await terminal.ended).exit).toBe(0)
  })

  test('fails if stdout cannot be written', async () => {
    const home = await homeWith(['Some words.'])
    const terminal = openTerminal(home, ['hi there'], { shell: '> /dev/full' })
    await terminal.see('cannot write to stdout: ENOSPC')
    expect((await terminal.ended).exit).toBe(1)
  })

  test('asks for approval, and continues', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A', '--tools', 'tools.ts'])
    await terminal.see('Refund A? [y] allow once · [N] deny (or type a reason) ')
    expect(existsSync(join(home.folder, 'refunds.txt'))).toBe(false)
    terminal.type('y\r')
    await terminal.see(/✓ refund .*done/)
    await terminal.see('It is done.')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'refunds.txt'), 'utf8')).toBe('A\n')
  })

  test('does not ask again for what was allowed in the thread', async () => {
    const calls = ['A', 'A'].map((id) => [{ call: 'refund', input: { id } }])
    const home = await homeWith([...calls, 'Twice.'])
    home.write('tools.ts', ruledFile)
    const terminal = openTerminal(home, ['refund A twice', '--tools', 'tools.ts'])
    await terminal.see(
      'refund {"id":"A"}: Write `A`? [y] allow once · [t] allow in this thread · [a] always allow (write(A)) · [N] deny',
    )
    terminal.type('t\r')
    await terminal.see('Twice.')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'refunds.txt'), 'utf8')).toBe('A\nA\n')
  })

  test('asks about one tool call after the other', async () => {
    const calls = ['A', 'B'].map((id) => ({ call: 'refund', input: { id } }))
    const home = await homeWith([calls, 'Both are decided.'])
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A and B', '--tools', 'tools.ts'])
    await terminal.see('Refund A? [y] allow once · [N] deny (or type a reason) ')
    terminal.type('n\r')
    await terminal.see('Refund B? [y] allow once · [N] deny (or type a reason) ')
    terminal.type('yes\r')
    await terminal.see('Both are decided.')
    expect((await terminal.ended).exit).toBe(0)
    expect(readFileSync(join(home.folder, 'refunds.txt'), 'utf8')).toBe('B\n')
  })

  test('passes the reason for a denial to the model', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A', '--tools', 'tools.ts'])
    await terminal.see('type a reason) ')
    terminal.type('far too expensive\r')
    await terminal.see('It is done.')
    await terminal.ended
    expect(existsSync(join(home.folder, 'refunds.txt'))).toBe(false)
    expect(JSON.stringify(home.simulator.requests[1]?.body)).toContain('far too expensive')
  })

  test('Ctrl-C at the approval prompt stops the run', async () => {
    const home = await homeWith(asksFirst)
    home.write('tools.ts', toolsFile)
    const terminal = openTerminal(home, ['refund A', '--tools', 'tools.ts'])
    await terminal.see('type a reason) ')
    terminal.type('\x03')
    await terminal.see('interrupted; the partial answer is saved')
    expect((await terminal.ended).exit).toBe(130)
    expect(existsSync(join(home.folder, 'refunds.txt'))).toBe(false)
  })

  test('Ctrl-C stops an answer, saves it, and prints how to continue', async () => {
    const home = await homeWith([[{ text: 'Half an answer' }, { hang: true }]])
    const terminal = openTerminal(home, ['hello'])
    await terminal.see('Half an answer')
    terminal.type('\x03')
    await terminal.see('interrupted; the partial answer is saved')
    await terminal.see(/continue with: millrace --thread \w+/)
    expect((await terminal.ended).exit).toBe(130)
  })

  test('control sequences of the model are removed', async () => {
    const home = await homeWith([`a${esc}]0;owned\u0007b${esc}[2J${esc}[31mc\u202e`])
    const terminal = openTerminal(home, ['hi there'])
    await terminal.see('abc')
    await terminal.ended
    expect(terminal.output()).not.toContain('owned')
    expect(terminal.output()).not.toContain(`${esc}[2J`)
  })
})

describe.concurrent('without a question, in a terminal', { skip }, () => {
  test('a chat opens', async () => {
    const home = await homeWith(['Hello to you.'])
    const terminal = openTerminal(home, [])
    await terminal.see('/help')
    terminal.type('hi there\r')
    await terminal.see('Hello to you.')
    terminal.type('\x04')
    await terminal.see(/continue with: millrace --thread \w+/)
    expect((await terminal.ended).exit).toBe(0)
  })

  test('a chat continues a thread that a question started', async () => {
    const home = await homeWith(['First answer.', 'Second answer.'])
    await home.run(['first question', '--thread', 'mine', '--new'])
    const terminal = openTerminal(home, ['--thread', 'mine'])
    await terminal.see('First answer.')
    terminal.type('second question\r')
    await terminal.see('Second answer.')
    terminal.type('\x04')
    await terminal.see('continue with: millrace --thread mine')
    expect((await terminal.ended).exit).toBe(0)
    expect(home.simulator.requests[1]?.body).toMatchObject({
      messages: [{}, {}, { content: 'second question' }],
    })
  })

  test('/model switches to another model', async () => {
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

  test('stdout as a file and flags of questions are usage errors', async () => {
    const home = await homeWith([])
    const piped = openTerminal(home, [], { shell: '> out.txt' })
    await piped.see('nothing to ask')
    expect((await piped.ended).exit).toBe(2)
    const timed = openTerminal(home, ['--timeout', '5s'])
    await timed.see('--timeout only works with a question, not in a chat')
    expect((await timed.ended).exit).toBe(2)
  })
})
