import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Terminal } from './terminal.test-kit.ts'
import { openChat, skipTerminal } from './terminal.test-kit.ts'

const esc = '\x1b'
const ctrl = { c: '\x03', d: '\x04', j: '\n', u: '\x15' }
const alt = { enter: `${esc}\r` }
const up = `${esc}[A`
const colour = new RegExp(`${esc}\\[[0-9;]*m`)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-chat-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function leave(terminal: Terminal): Promise<void> {
  terminal.type(ctrl.d)
  expect(await terminal.exit).toBe(0)
}

describe.concurrent('a chat in a terminal', { skip: skipTerminal }, () => {
  test('what is said is answered, in Markdown, and how to go on is told at the end', async () => {
    const chat = await openChat()
    expect(chat.text()).toContain('desk · scripted · /help')
    chat.type('hello\r')
    await chat.see(/› hello\n\nGreetings\n\nThis is bold and code:\n\n• one\n• two\n\n›/)
    await leave(chat)
    expect(chat.output()).toMatch(colour)
    expect(chat.lines().at(-1)).toMatch(/^to go on: millrace --thread thread_[\w-]+$/)
    expect(chat.modes.has('2004')).toBe(false)
    expect(chat.modes.has('25')).toBe(true)
  })

  test('a call has a live line, and the answer follows it', async () => {
    const chat = await openChat()
    chat.type('lookup SLOW\r')
    await chat.see(/Let me look\.\n {2}. lookup_order \{"id":"SLOW"\} · running .* · asked the carrier/)
    chat.signal('SIGUSR2')
    await chat.see(/✓ lookup_order \{"id":"SLOW"\} · done in .*\nThe tool says: /)
    await leave(chat)
  })

  test('what is written while an answer comes is queued, and answered after it', async () => {
    const chat = await openChat()
    chat.type('lookup SLOW\r')
    await chat.see('running')
    chat.type('and this')
    await chat.see('Enter queues it')
    chat.type('\r')
    await chat.see('◦ queued: and this')
    chat.signal('SIGUSR2')
    await chat.see(/The tool says: .*\n[\s\S]*› and this\n\nYou said "and this"\./)
    await leave(chat)
  })

  test.each([
    ['Escape', esc],
    ['Ctrl-C', ctrl.c],
    ['/stop', '/stop\r'],
  ])('%s stops the answer, and the conversation goes on', async (_, keys) => {
    const chat = await openChat()
    chat.type('hang\r')
    await chat.see('It never ends:')
    chat.type(keys)
    await chat.see('■ stopped')
    chat.type('still there?\r')
    await chat.see('You said "still there?".')
    await leave(chat)
  })

  test('a tool that runs is stopped as well', async () => {
    const chat = await openChat()
    chat.type('lookup SLOW\r')
    await chat.see('running')
    chat.type(ctrl.c)
    await chat.see(/■ lookup_order \{"id":"SLOW"\} · stopped after .*\n■ stopped/)
    await leave(chat)
  })

  test('Ctrl-C clears what is written, and leaves when there is nothing', async () => {
    const chat = await openChat()
    chat.type('half a thought')
    await chat.see('› half a thought')
    chat.type(ctrl.c)
    await chat.gone('half a thought')
    chat.type(ctrl.c)
    expect(await chat.exit).toBe(0)
    // Nothing was said, so there is nothing to go on with.
    expect(chat.text()).not.toContain('to go on')
  })

  test('an answer that fails says why', async () => {
    const chat = await openChat()
    chat.type('fail\r')
    await chat.see('✗ the model is on fire')
    chat.type('hm\r')
    await chat.see('You said "hm".')
    await leave(chat)
  })

  test('orders to the terminal do not come through the words of the model', async () => {
    const chat = await openChat({ env: { NO_COLOR: '1' } })
    chat.type('evil\r')
    await chat.see('a red title kcab b')
    await leave(chat)
    expect(chat.output()).not.toContain('owned')
    expect(chat.output()).not.toMatch(colour)
    expect(chat.output()).not.toContain(`${esc}[2J`)
  })

  test('left in the middle of an answer, it goes on in the next chat', async () => {
    const file = join(folder, 'left.db')
    const first = await openChat({ file, thread: 'left' })
    first.type('lookup SLOW\r')
    await first.see('running')
    await leave(first)
    const second = await openChat({ file, thread: 'left' })
    await second.see(/lookup SLOW[\s\S]*The tool says: /)
    await leave(second)
  })

  test('told to end by a signal, it gives the terminal back', async () => {
    const chat = await openChat()
    chat.type('hello\r')
    await chat.see('• two')
    chat.signal('SIGTERM')
    expect(await chat.exit).toBe(143)
    expect(chat.lines().at(-1)).toMatch(/^to go on: /)
    expect(chat.modes.has('2004')).toBe(false)
  })

  test('when its window is closed, it ends', async ({ expect }) => {
    const chat = await openChat()
    chat.type('hang\r')
    await chat.see('It never ends:')
    chat.closeWindow()
    await chat.exit
    await expect.poll(() => chat.isRunning(), { timeout: 20_000 }).toBe(false)
  })

  test('Ctrl-Z gives the shell its turn, and the chat goes on after it', async () => {
    const chat = await openChat({ underShell: true })
    chat.type('half')
    await chat.see('› half')
    chat.type('\x1a')
    await chat.see('the shell has it')
    chat.type('!\r')
    await chat.see('You said "half!".')
    await leave(chat)
  })

  test('/exit leaves', async () => {
    const chat = await openChat()
    chat.type('/exit\r')
    expect(await chat.exit).toBe(0)
  })
})

describe.concurrent('a call that a person has to allow', { skip: skipTerminal }, () => {
  test('runs on y', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see(/\? refund_order \{"id":"ORD-7"\}\n {2}Refund ORD-7\?\n {2}y yes/)
    chat.type('y\r')
    await chat.see(/✓ refund_order \{"id":"ORD-7"\} · done.*\nThe tool says: .*refunded ORD-7/)
    await leave(chat)
  })

  test('is not asked about again on t, as the rules allow it from then on', async () => {
    const chat = await openChat()
    chat.type('save ORD-7\r')
    await chat.see(
      /\? save_order \{"id":"ORD-7"\}\n {2}it would write `ORD-7`\n {2}y yes · t yes, in this thread \(write\(ORD-7\)\) · n no/,
    )
    chat.type('a\r')
    await chat.see('a call waits for you')
    chat.type(`${'\x7f'.repeat(3)}t\r`)
    await chat.see(/The tool says: .*saved ORD-7/)
    chat.type('save ORD-7\r')
    await chat.see(/saved ORD-7[\s\S]*saved ORD-7/)
    chat.type('save x.env\r')
    await chat.see(/✗ save_order .* · failed/)
    await chat.see(/The tool says: [\s\S]*not\s+allowed\s+here/)
    await leave(chat)
  })

  test('does not on n, and the model is told why', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see('y yes')
    chat.type('n too dear\r')
    await chat.see(/✗ refund_order .* · declined/)
    await chat.see(/The tool says: [\s\S]*too\s+dear/)
    await leave(chat)
  })

  test('runs with another input on e', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see('y yes')
    chat.type('e\r')
    await chat.see(/› e \{\n {4}"id": "ORD-7"\n {2}\}/)
    // The end of it: back over `"`, newline and brace, and over the 7.
    chat.type(`${esc}[A${esc}[F${`${esc}[D`}\x7f8\r`)
    await chat.see(/The tool says: .*refunded ORD-8/)
    await leave(chat)
  })

  test('is not decided by a message that was being written', async () => {
    const chat = await openChat()
    chat.type('lookup SLOW\r')
    await chat.see('running')
    chat.type('refund ORD-3\r')
    await chat.see('queued')
    chat.type('yet another')
    await chat.see('yet another')
    chat.signal('SIGUSR2')
    await chat.see('? refund_order')
    await chat.gone('yet another')
    chat.type('maybe\r')
    await chat.see('a call waits for you')
    chat.type(`${ctrl.u}n\r`)
    await chat.see('declined')
    await chat.see('› yet another')
    chat.type('\r')
    await chat.see('You said "yet another".')
    await leave(chat)
  })

  test('is not run if the answer is stopped instead', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see('y yes')
    chat.type(esc)
    await chat.see('■ stopped')
    await chat.gone('y yes')
    expect(chat.text()).not.toContain('refunded')
    await leave(chat)
  })
})

describe.concurrent('writing', { skip: skipTerminal }, () => {
  test('what is typed before the chat is there is heard', async () => {
    const chat = await openChat({ typeAhead: 'early\r' })
    await chat.see('You said "early".')
    await leave(chat)
  })

  test('several lines are one message: Alt-Enter, Ctrl-J, a backslash, a paste', async () => {
    const chat = await openChat()
    chat.type(`one${alt.enter}two${ctrl.j}three\\\r${esc}[200~four\rfive${esc}[201~`)
    await chat.see('› one\n  two\n  three\n  four\n  five')
    chat.type('\r')
    await chat.see('You said "one\\ntwo\\nthree\\nfour\\nfive".')
    await leave(chat)
  })

  test('what was said before comes back with ↑, also in the next chat', async () => {
    const historyFile = join(folder, 'history')
    const first = await openChat({ historyFile })
    first.type('the first\r')
    await first.see('You said "the first".')
    first.type(`dra${up}`)
    await first.see(/You said[\s\S]*› the first/)
    first.type(`${esc}[B`)
    await first.see('› dra')
    first.type(ctrl.c)
    await first.gone('› dra')
    await leave(first)
    const second = await openChat({ historyFile })
    second.type(`${up}\r`)
    await second.see('You said "the first".')
    await leave(second)
  })

  test('Tab completes commands, and one that is misspelt is not said to the model', async () => {
    const chat = await openChat()
    chat.type('/')
    await chat.see('/help  /model  /tools')
    chat.type('to\t')
    await chat.see('› /tools')
    chat.type('\r')
    await chat.see('refund_order: Give the money back')
    chat.type('/tolls\r')
    await chat.see('there is no command /tolls: did you mean /tools?')
    chat.type('/etc/hosts what?\r')
    await chat.see('You said "/etc/hosts what?".')
    await leave(chat)
  })

  test('wide characters and emoji are where they belong', async () => {
    const chat = await openChat()
    chat.type(`日本👍x${esc}[D${esc}[D\x7f!`)
    await chat.see('› 日!👍x')
    chat.type('\r')
    await chat.see('You said "日!👍x".')
    await leave(chat)
  })
})
