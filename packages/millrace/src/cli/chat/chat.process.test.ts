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
const color = new RegExp(`${esc}\\[[0-9;]*m`)

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
  test('messages are answered in Markdown, and the end shows how to continue', async () => {
    const chat = await openChat()
    expect(chat.text()).toContain('desk · scripted · /help')
    chat.type('hello\r')
    await chat.see(
      /› hello\n\nGreetings\n\nThis is bold and code:\n\n• one\n• two\nunknown cost \(no price for 'scripted'\) · 1 round\n\n›/,
    )
    await leave(chat)
    expect(chat.output()).toMatch(color)
    expect(chat.lines().at(-1)).toMatch(/^continue with: millrace --thread thread_[\w-]+$/)
    expect(chat.modes.has('2004')).toBe(false)
    expect(chat.modes.has('25')).toBe(true)
  })

  test('a budget that is spent is asked about, and the answer continues or ends', async () => {
    const chat = await openChat({ columns: 120, budget: { rounds: 1, onLimit: 'ask' } })
    chat.type('lookup ORD-1\r')
    const question = 'The budget of 1 round for this run is spent (1 round). Allow another 1 round?'
    await chat.see(`? ${question}`)
    await chat.see('[y] yes · [n] no · [e] change the amount')
    chat.type('y\r')
    await chat.see(`✓ ${question}`)
    await chat.see(/The tool says: .*shipped/)
    chat.type('lookup ORD-2\r')
    await chat.see(/ORD-2[\s\S]*\? The budget of 1 round/)
    chat.type('n\r')
    await chat.see('▲ The budget of 1 round for this run is spent.')
    await leave(chat)
  })

  test('a tool call has a live line, and the answer follows it', async () => {
    const chat = await openChat()
    chat.type('lookup SLOW\r')
    await chat.see(/Let me look\.\n {2}. lookup_order \{"id":"SLOW"\} · running .* · asked the carrier/)
    chat.signal('SIGUSR2')
    await chat.see(/✓ lookup_order \{"id":"SLOW"\} · done in .*\nThe tool says: /)
    await leave(chat)
  })

  test('a message sent during an answer is queued', async () => {
    const chat = await openChat()
    chat.type('lookup SLOW\r')
    await chat.see('running')
    chat.type('and this')
    await chat.see('Enter to queue')
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
  ])('%s stops the answer, and the conversation continues', async (_, keys) => {
    const chat = await openChat()
    chat.type('hang\r')
    await chat.see('It never ends:')
    chat.type(keys)
    await chat.see('■ stopped')
    chat.type('still there?\r')
    await chat.see('You said "still there?".')
    await leave(chat)
  })

  test('a running tool is stopped too', async () => {
    const chat = await openChat()
    chat.type('lookup SLOW\r')
    await chat.see('running')
    chat.type(ctrl.c)
    await chat.see(/■ lookup_order \{"id":"SLOW"\} · stopped after .*\n■ stopped/)
    await leave(chat)
  })

  test('Ctrl-C clears the draft, and leaves if it is empty', async () => {
    const chat = await openChat()
    chat.type('half a thought')
    await chat.see('› half a thought')
    chat.type(ctrl.c)
    await chat.gone('half a thought')
    chat.type(ctrl.c)
    expect(await chat.exit).toBe(0)
    // Without a message there is no thread to continue.
    expect(chat.text()).not.toContain('continue with')
  })

  test('a failed answer shows the reason', async () => {
    const chat = await openChat()
    chat.type('fail\r')
    await chat.see('✗ the model is on fire')
    chat.type('hm\r')
    await chat.see('You said "hm".')
    await leave(chat)
  })

  test('control sequences of the model are removed', async () => {
    const chat = await openChat({ env: { NO_COLOR: '1' } })
    chat.type('evil\r')
    await chat.see('a red title kcab b')
    await leave(chat)
    expect(chat.output()).not.toContain('owned')
    expect(chat.output()).not.toMatch(color)
    expect(chat.output()).not.toContain(`${esc}[2J`)
  })

  test('an interrupted answer continues in the next chat', async () => {
    const file = join(folder, 'left.db')
    const first = await openChat({ file, thread: 'left' })
    first.type('lookup SLOW\r')
    await first.see('running')
    await leave(first)
    const second = await openChat({ file, thread: 'left' })
    await second.see(/lookup SLOW[\s\S]*The tool says: /)
    await leave(second)
  })

  test('the terminal is restored after a signal', async () => {
    const chat = await openChat()
    chat.type('hello\r')
    await chat.see('• two')
    chat.signal('SIGTERM')
    expect(await chat.exit).toBe(143)
    expect(chat.lines().at(-1)).toMatch(/^continue with: /)
    expect(chat.modes.has('2004')).toBe(false)
  })

  test('the chat ends when its window is closed', async ({ expect }) => {
    const chat = await openChat()
    chat.type('hang\r')
    await chat.see('It never ends:')
    chat.closeWindow()
    await chat.exit
    await expect.poll(() => chat.isRunning(), { timeout: 20_000 }).toBe(false)
  })

  test('Ctrl-Z returns to the shell, and the chat continues after fg', async () => {
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

describe.concurrent('a tool call that needs approval', { skip: skipTerminal }, () => {
  test('runs on y', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see(/\? refund_order \{"id":"ORD-7"\}\n {2}Refund ORD-7\?\n {2}\[y\] allow once/)
    chat.type('y\r')
    await chat.see(/✓ refund_order \{"id":"ORD-7"\} · done.*\nThe tool says: .*refunded ORD-7/)
    await leave(chat)
  })

  test('is allowed in the whole thread on t', async () => {
    const chat = await openChat()
    chat.type('save ORD-7\r')
    await chat.see(
      /\? save_order \{"id":"ORD-7"\}\n {2}Write `ORD-7`\?\n {2}\[y\] allow once · \[t\] allow in this thread \(write\(ORD-7\)\) · \[n\]/,
    )
    chat.type('a\r')
    await chat.see('a tool call is waiting for approval')
    chat.type(`${'\x7f'.repeat(3)}t\r`)
    await chat.see(/The tool says: .*saved ORD-7/)
    chat.type('save ORD-7\r')
    await chat.see(/saved ORD-7[\s\S]*saved ORD-7/)
    chat.type('save x.env\r')
    await chat.see(/✗ save_order .* · failed/)
    await chat.see(/The tool says: [\s\S]*not\s+allowed\s+here/)
    await leave(chat)
  })

  test('does not run on n, and the model gets the reason', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see('[y] allow once')
    chat.type('n too expensive\r')
    await chat.see(/✗ refund_order .* · denied/)
    await chat.see(/The tool says: [\s\S]*too\s+expensive/)
    await leave(chat)
  })

  test('runs with edited arguments on e', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see('[y] allow once')
    chat.type('e\r')
    await chat.see(/› e \{\n {4}"id": "ORD-7"\n {2}\}/)
    // Moves from the end before the closing quote, and replaces the 7.
    chat.type(`${esc}[A${esc}[F${`${esc}[D`}\x7f8\r`)
    await chat.see(/The tool says: .*refunded ORD-8/)
    await leave(chat)
  })

  test('is not decided by the draft of a message', async () => {
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
    await chat.see('a tool call is waiting for approval')
    chat.type(`${ctrl.u}n\r`)
    await chat.see('denied')
    await chat.see('› yet another')
    chat.type('\r')
    await chat.see('You said "yet another".')
    await leave(chat)
  })

  test('does not run if the answer is stopped instead', async () => {
    const chat = await openChat()
    chat.type('refund ORD-7\r')
    await chat.see('[y] allow once')
    chat.type(esc)
    await chat.see('■ stopped')
    await chat.gone('[y] allow once')
    expect(chat.text()).not.toContain('refunded')
    await leave(chat)
  })
})

describe.concurrent('the input line', { skip: skipTerminal }, () => {
  test('keys typed before the chat starts are not lost', async () => {
    const chat = await openChat({ typeAhead: 'early\r' })
    await chat.see('You said "early".')
    await leave(chat)
  })

  test('a message can have several lines: Alt-Enter, Ctrl-J, backslash, paste', async () => {
    const chat = await openChat()
    chat.type(`one${alt.enter}two${ctrl.j}three\\\r${esc}[200~four\rfive${esc}[201~`)
    await chat.see('› one\n  two\n  three\n  four\n  five')
    chat.type('\r')
    await chat.see('You said "one\\ntwo\\nthree\\nfour\\nfive".')
    await leave(chat)
  })

  test('↑ brings back earlier messages, also in the next chat', async () => {
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

  test('Tab completes commands, and a misspelled one is not sent to the model', async () => {
    const chat = await openChat()
    chat.type('/')
    await chat.see('/help  /model  /tools')
    chat.type('to\t')
    await chat.see('› /tools')
    chat.type('\r')
    await chat.see('refund_order: Refund an order')
    chat.type('/tolls\r')
    await chat.see('unknown command /tolls: did you mean /tools?')
    chat.type('/etc/hosts what?\r')
    await chat.see('You said "/etc/hosts what?".')
    await leave(chat)
  })

  test('wide characters and emoji are edited correctly', async () => {
    const chat = await openChat()
    chat.type(`日本👍x${esc}[D${esc}[D\x7f!`)
    await chat.see('› 日!👍x')
    chat.type('\r')
    await chat.see('You said "日!👍x".')
    await leave(chat)
  })
})
