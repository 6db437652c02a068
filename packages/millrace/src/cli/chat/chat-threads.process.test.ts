import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sqliteStore } from '../../log/sqlite.ts'
import type { Terminal } from './terminal.test-kit.ts'
import { openChat, skipTerminal } from './terminal.test-kit.ts'

const esc = '\x1b'
const ctrl = { c: '\x03', d: '\x04' }

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-threads-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function leave(terminal: Terminal): Promise<void> {
  terminal.type(ctrl.d)
  expect(await terminal.exit).toBe(0)
}

describe.concurrent('commands', { skip: skipTerminal }, () => {
  test('/help, /model', async () => {
    const chat = await openChat()
    chat.type('/help\r')
    await chat.see('/fork [n]')
    chat.type('/model\r')
    await chat.see('model: scripted')
    chat.type('/model other\r')
    await chat.see('switched to other')
    chat.type('/model none\r')
    await chat.see('no such model')
    await leave(chat)
  })

  test('/new starts another thread, /threads returns to the first', async () => {
    const chat = await openChat()
    chat.type('the first\r')
    await chat.see('You said "the first".')
    chat.type('/new\r')
    await chat.see('started a new thread')
    chat.type('the second\r')
    await chat.see('You said "the second".')
    chat.type('/threads\r')
    await chat.see(/1 {2}the second {2}\(.*current.*\n[\s\S]*2 {2}the first/)
    chat.type('/threads 2\r')
    await chat.see(/opened thread thread_/)
    await chat.see(/To open one[\s\S]*You said "the first"\./)
    chat.type('again\r')
    await chat.see('You said "again".')
    chat.type('/threads 9\r')
    await chat.see('no thread number 9')
    await leave(chat)
  })

  test('/fork continues in a copy without the last message', async () => {
    const chat = await openChat()
    chat.type('one\r')
    await chat.see('You said "one".')
    chat.type('two\r')
    await chat.see('You said "two".')
    chat.type('/fork 1\r')
    await chat.see(/continuing in a copy[\s\S]*› two/)
    chat.type('!\r')
    await chat.see('You said "two!".')
    chat.type('/fork 7\r')
    await chat.see('/fork takes a number from 1 to 2')
    await leave(chat)
  })

  test('/retry answers again, /edit changes a message, and /undo restores what they replaced', async () => {
    const file = join(folder, 'rewound.db')
    const chat = await openChat({ file, thread: 'rewound' })
    chat.type('/retry\r')
    await chat.see('no answer yet')
    chat.type('/undo\r')
    await chat.see('nothing to undo')
    chat.type('hi\r')
    await chat.see('You said "hi".')
    chat.type('count\r')
    await chat.see('Answer 1.')
    chat.type('/retry\r')
    await chat.see(/↶ went back in the conversation\n+Answer 2\./)
    chat.type('/undo\r')
    await chat.see(/Answer 2\.[\s\S]*› hi\n\nYou said "hi"\.\nunknown cost .*\n\n› count\n\nAnswer 1\.\n/)
    chat.type('/edit 7\r')
    await chat.see('/edit takes a number from 1 to 2')
    chat.type('/edit\r')
    await chat.see(/↶ went back in the conversation\n\n› count$/m)
    chat.type(' me\r')
    await chat.see(/› count me\n\nAnswer 3\./)
    await leave(chat)
    const later = await openChat({ file, thread: 'rewound' })
    await later.see(/› hi\n\nYou said "hi"\.\nunknown cost .*\n\n› count me\n\nAnswer 3\.\n/)
    expect(later.text()).not.toMatch(/Answer [12]|went back/)
    await leave(later)
  })

  test('/respond gives the result of a call that a client runs, and messages can be sent meanwhile', async () => {
    const chat = await openChat()
    chat.type('/respond red\r')
    await chat.see('no tool call is waiting for a result')
    chat.type('pick sky\r')
    await chat.see('pick_color {"id":"sky"} · waiting for a result from a client')
    await chat.see('/respond and a result, as text or JSON')
    chat.type('thanks\r')
    await chat.see('queued: thanks')
    chat.type('/respond {"color": "red"}\r')
    await chat.see('✓ pick_color {"id":"sky"}')
    await chat.see(/The tool says: .*"color":"red"/)
    await chat.see('You said "thanks".')
    await leave(chat)
  })

  test('/export writes the messages, and never overwrites a file', async () => {
    const file = join(folder, 'talk.md')
    const chat = await openChat({ columns: 200 })
    chat.type(`/export ${file}\r`)
    await chat.see('no messages yet')
    chat.type('hello\r')
    await chat.see('• two')
    chat.type(`/export ${file}\r`)
    await chat.see(`written to ${file}`)
    chat.type(`/export ${file}\r`)
    await chat.see('already')
    chat.type(`/export ${file}.json\r`)
    await chat.see(`written to ${file}.json`)
    await leave(chat)
    expect(readFileSync(file, 'utf8')).toContain('This is **bold**')
    expect(JSON.parse(readFileSync(`${file}.json`, 'utf8'))).toMatchObject({ messages: [{}, {}] })
  })
})

describe.concurrent('one thread in several terminals', { skip: skipTerminal }, () => {
  test('both see all messages, and either can approve', async () => {
    const file = join(folder, 'shared.db')
    const one = await openChat({ file, thread: 'shared' })
    const two = await openChat({ file, thread: 'shared' })
    one.type('first\r')
    await one.see('You said "first".')
    await leave(two)
    const late = await openChat({ file, thread: 'shared' })
    await late.see(/› first\n\nYou said "first"\./)
    late.type('second\r')
    await one.see(/› second\n\nYou said "second"\./)
    one.type('refund ORD-5\r')
    await one.see('[y] allow once')
    await late.see('[y] allow once')
    late.type('y\r')
    await one.see(/refunded ORD-5/)
    await one.gone('[y] allow once')
    await leave(one)
    await leave(late)
  })

  test('a long thread is opened at its end', async () => {
    const file = join(folder, 'long.db')
    const first = await openChat({ file, thread: 'long' })
    for (let count = 1; count <= 12; count++) {
      first.type(`message ${count}\r`)
      await first.see(`You said "message ${count}".`)
    }
    await leave(first)
    const second = await openChat({ file, thread: 'long' })
    await second.see('You said "message 12".')
    expect(second.text()).toContain('earlier messages are not shown')
    expect(second.text()).not.toContain('message 2"')
    await leave(second)
  })

  test('after the thread is deleted, a new one starts', async ({ expect }) => {
    const file = join(folder, 'deleted.db')
    const chat = await openChat({ file, thread: 'deleted' })
    chat.type('first\r')
    await chat.see('You said "first".')
    const store = sqliteStore(file)
    expect(await store.delete('deleted')).toBe(true)
    await store.close()
    await chat.see('this thread was deleted; starting a new one')
    chat.type('second\r')
    await chat.see('You said "second".')
    await leave(chat)
    expect(chat.lines().at(-1)).not.toContain('deleted')
  })

  test('a pending approval is shown in the next chat', async () => {
    const file = join(folder, 'asked.db')
    const first = await openChat({ file, thread: 'asked' })
    first.type('refund ORD-9\r')
    await first.see('[y] allow once')
    await leave(first)
    const second = await openChat({ file, thread: 'asked' })
    await second.see('Refund ORD-9?')
    second.type('y\r')
    await second.see('refunded ORD-9')
    await leave(second)
  })
})

describe.concurrent('kinds of terminals', { skip: skipTerminal }, () => {
  test('at 20 columns every row fits and is written once', async () => {
    const chat = await openChat({ columns: 20, rows: 12, paceMs: 2, env: { NO_COLOR: '1' } })
    chat.type('lookup ORD-42\r')
    await chat.see(/The tool says:[\s\S]*\n\n›/)
    for (const line of chat.lines()) expect(line.length).toBeLessThanOrEqual(20)
    expect(chat.text().match(/Let me look/g)).toHaveLength(1)
    expect(chat.text().match(/✓ lookup_order/g)).toHaveLength(1)
    await leave(chat)
  })

  test('the draft is redrawn when the window is resized', async ({ expect }) => {
    const chat = await openChat({ columns: 80, env: { NO_COLOR: '1' } })
    chat.type('some words that are being written')
    await chat.see('being written')
    const before = chat.output().length
    chat.resize(24)
    const drawn = () => chat.output().slice(before)
    await chat.until(() => drawn().includes('  eing written'), 'two rows')
    expect(drawn()).toContain('› some words that are b')
    chat.type(ctrl.c)
    await leave(chat)
  })

  test('an answer longer than the screen scrolls away completely', async () => {
    const chat = await openChat({ rows: 10, paceMs: 1 })
    chat.type('many\r')
    await chat.see(/line 60\nunknown cost .*\n\n›/)
    const shown = chat.lines().filter((line) => line.startsWith('• line'))
    expect(shown).toEqual(Array.from({ length: 60 }, (_, line) => `• line ${line + 1}`))
    await leave(chat)
  })

  test('a dumb terminal gets plain lines', async () => {
    const file = join(folder, 'dumb.db')
    const options = { file, thread: 'dumb', env: { TERM: 'dumb' } }
    const chat = await openChat(options)
    chat.type('hello\r')
    await chat.see('This is **bold** and `code`:')
    chat.type('refund ORD-2\r')
    await chat.see('Refund ORD-2?')
    chat.type('y\r')
    await chat.see('[refund_order] done')
    chat.type('pick sky\r')
    await chat.see(/pick_color is waiting for a result[^>]*\/respond and a result/)
    chat.type('/respond red\r')
    await chat.see(/The tool says: .*red/)
    await chat.see('refunded ORD-2')
    chat.type('hang\r')
    await chat.see('It never ends:')
    chat.type(ctrl.c)
    await chat.see(/\(canceled\)\n\(unknown cost .*\)\n>/)
    chat.type('one\\\rtwo\r')
    await chat.see('You said "one\\ntwo".')
    chat.type('/exit\r')
    expect(await chat.exit).toBe(0)
    expect(chat.output()).not.toContain(esc)
    const later = await openChat(options)
    await later.see(
      /\n> hello\n# Greetings\n[\s\S]*It never ends:\n\(canceled\)\n[\s\S]*You said "one\\ntwo"\.\n\(unknown cost .*\)\n>/,
    )
    await leave(later)
  })
})
