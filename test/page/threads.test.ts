import { readTranscript } from 'millrace'
import { client } from 'millrace/client'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage, phone, say, screenshot, textOfDownload } from './page.test-kit.ts'

/** What a person sees of the list. */
function listOf(page: Page) {
  const nav = page.getByRole('navigation', { name: 'Threads' })
  const row = (title: string) => nav.getByRole('listitem').filter({ hasText: title })
  return {
    nav,
    row,
    titles: () => nav.locator('.threads-title').allTextContents(),
    search: nav.getByRole('searchbox', { name: 'Search threads' }),
    async choose(title: string, action: string) {
      await row(title).getByRole('button', { name: 'Actions' }).click()
      await page.getByRole('menuitem', { name: action }).click()
    },
  }
}

/** Somebody else, who talks to the same server. */
async function talk(url: string, id: string, message: string) {
  const thread = await client(url).create({ id })
  const until = await thread.send(message)
  for await (const _ of thread.follow({ until }));
  return thread
}

const answers = () => 'So be it.'
// Only turns a hang into a failure.
const patience = { timeout: 60_000 }

describePage('the list of threads', (visit) => {
  test('says which quotas are used by more than half', async () => {
    const { url } = await openDesk({ script: answers, app: { quotas: { storedBytes: 1000 } } })
    await talk(url, 'a', 'Hello')
    const page = await visit(url)
    await listOf(page)
      .nav.getByText(/^Used: stored bytes: .* of 1 KB$/)
      .waitFor()
  })

  test('shows what others begin, do and wait for, as it happens', async () => {
    const { url } = await openDesk({
      script: [
        [{ text: 'Let me see.' }, { call: 'refund_order', input: { id: 'ORD-42' } }],
        'It is paid back.',
        [{ text: 'Wait' }, { hang: true }],
      ],
    })
    const page = await visit(url)
    const list = listOf(page)
    await list.nav.getByText('There are no threads yet.').waitFor()
    const thread = await talk(url, 'a', 'Money back, please')
    const row = list.row('Money back, please')
    await row.getByText('Waiting for you').waitFor()
    await screenshot(page, 'threads-waiting')
    const [request] = (await thread.state()).approvals
    await thread.approve(request?.callId ?? '', { approved: true })
    await row.getByText('Idle').waitFor()
    await thread.send('Another one')
    await row.getByText('Running').waitFor()
    await thread.stop()
    await row.getByText('Idle').waitFor()
    expect(await row.getByRole('link').getAttribute('aria-current')).toBeNull()
  })

  test('marks the open one, and knows its status before the server is asked', async () => {
    const { url } = await openDesk({ script: [[{ text: 'Hm' }, { hang: true }]] })
    const page = await visit(url, { tolerates: [/ERR_FAILED.*\/threads\?/] })
    const list = listOf(page)
    await say(page, 'Think about it')
    const row = list.row('Think about it')
    await row.waitFor()
    // From here on nothing new is heard of any thread.
    await page.route('**/threads?*', (route) => route.abort())
    expect(await row.getByRole('link').getAttribute('aria-current')).toBe('page')
    await row.getByText('Running').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await row.getByText('Idle').waitFor()
    await list.nav.getByText('out of reach').waitFor()
    await page.unroute('**/threads?*')
    await list.nav.getByText('out of reach').waitFor({ state: 'detached' })
  })

  test('asks nothing while nobody sees it, and at once when somebody does', async () => {
    const { url } = await openDesk({ script: answers })
    const page = await visit(url)
    await page.clock.install()
    await page.reload()
    const list = listOf(page)
    await list.nav.getByText('There are no threads yet.').waitFor()
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await talk(url, 'a', 'Seen later')
    await page.clock.runFor(60_000)
    expect(asked).toEqual([])
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: false })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await list.row('Seen later').waitFor()
  })

  test('keeps the focus where it is when a row moves to another place', async () => {
    const { url } = await openDesk({ script: answers })
    const first = await talk(url, 'a', 'The first')
    for (const title of ['The second', 'The third', 'The fourth']) await talk(url, title.slice(4), title)
    const page = await visit(url)
    // Not every browser has it, and without it what is moved loses the focus.
    await page.addInitScript(() => Reflect.deleteProperty(Element.prototype, 'moveBefore'))
    await page.reload()
    const list = listOf(page)
    await expect.poll(list.titles, patience).toEqual(['The fourth', 'The third', 'The second', 'The first'])
    await list.row('The first').getByRole('link').focus()
    await first.send('Again')
    await expect.poll(list.titles, patience).toEqual(['The first', 'The fourth', 'The third', 'The second'])
    expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).toBe('#/threads/a')
  })

  test('shows more on demand, and by scrolling', async () => {
    const { url } = await openDesk({ script: answers })
    const server = client(url)
    for (let number = 0; number < 120; number++) await server.create({ id: `thread-${number}` })
    const page = await visit(url)
    const list = listOf(page)
    await expect.poll(async () => (await list.titles()).length, patience).toBe(50)
    // By itself, since a real click scrolls first: the end of the list, once it is seen, asks for the rest, and the button may be gone.
    await list.nav.getByRole('button', { name: 'More' }).evaluate((button: HTMLElement) => button.click())
    await expect.poll(async () => (await list.titles()).length, patience).toBeGreaterThanOrEqual(100)
    await list.row('thread-20').first().scrollIntoViewIfNeeded()
    await expect.poll(async () => (await list.titles()).length, patience).toBe(120)
    await expect.poll(() => list.nav.getByRole('button', { name: 'More' }).count(), patience).toBe(0)
  })
})

describePage('threads are found', (visit) => {
  test('by words with a pause between them', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'Money back')
    const page = await visit(url)
    const list = listOf(page)
    await list.search.pressSequentially('money ')
    await list.nav.getByText('1 found.').waitFor()
    // The list is asked for again and again, and what was typed stays.
    await page.waitForResponse(/search=money$/)
    await page.waitForResponse(/search=money$/)
    await list.search.pressSequentially('back')
    await page.waitForResponse(/search=money(\+|%20)back$/)
    expect(await list.search.inputValue()).toBe('money back')
  })

  test('by their words, on the server, and by what they are doing', async () => {
    const { url } = await openDesk({ script: [[{ hang: true }], 'Sunny.', 'Rainy.'] })
    const busy = await client(url).create({ id: 'busy' })
    await busy.send('Where is my order 42?')
    await talk(url, 'b', 'What is the weather?')
    await talk(url, 'c', 'And the weather of order 42?')
    const page = await visit(url)
    const list = listOf(page)
    await expect.poll(async () => (await list.titles()).length, patience).toBe(3)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('order WHERE')
    await list.nav.getByText('1 found.').waitFor()
    expect(await list.titles()).toEqual(['Where is my order 42?'])
    await list.search.fill('nothing like that')
    await list.nav.getByRole('status').getByText('Nothing found.').waitFor()
    expect(await list.titles()).toEqual([])
    await list.search.fill('')
    await expect.poll(async () => (await list.titles()).length, patience).toBe(3)
    await list.nav.getByRole('combobox').selectOption('Idle')
    await list.nav.getByText('2 found.').waitFor()
    await list.nav.getByRole('combobox').selectOption('Running')
    await expect.poll(list.titles, patience).toEqual(['Where is my order 42?'])
  })
})

describePage('a thread is exported', (visit) => {
  const script = [
    [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
    'It is there.',
  ]

  test('as JSON: the transcript, and the log it was made of', async () => {
    const { url } = await openDesk({ script })
    const thread = await talk(url, 'a', 'Where is ORD-42?')
    const page = await visit(url)
    const waiting = page.waitForEvent('download')
    await listOf(page).choose('Where is ORD-42?', 'Export as JSON')
    const download = await waiting
    expect(download.suggestedFilename()).toBe('where-is-ord-42.json')
    const text = await textOfDownload(download)
    const { messages } = await thread.state()
    expect(readTranscript(text)).toEqual(messages)
    expect(JSON.parse(text)).toMatchObject({
      thread: { id: 'a', agent: 'support', title: 'Where is ORD-42?' },
      entries: await thread.read(),
    })
  })

  test('as a test that plays it again', async () => {
    const { url } = await openDesk({ script })
    await talk(url, 'a', 'Where is ORD-42?')
    const page = await visit(url)
    const waiting = page.waitForEvent('download')
    await listOf(page).choose('Where is ORD-42?', 'Export as test script')
    const download = await waiting
    expect(download.suggestedFilename()).toBe('where-is-ord-42.test.ts')
    const source = await textOfDownload(download)
    expect(source).toContain("test('Where is ORD-42?', async () => {")
    expect(source).toContain("recordedTool('lookup_order', [")
    expect(source).toContain("expect(result.text).toBe('It is there.')")
  })

  test('says so where there is nothing to test yet', async () => {
    const { url } = await openDesk({ script })
    await client(url).create({ id: 'empty' })
    const page = await visit(url, { tolerates: [/status of 400/] })
    await listOf(page).choose('empty', 'Export as test script')
    await page.getByText('The thread cannot be exported: nothing has run in this thread yet').waitFor()
  })
})

describePage('a thread is deleted', (visit) => {
  test('only after a question, and is gone for everybody', async () => {
    const { url } = await openDesk({ script: answers })
    const thread = await talk(url, 'a', 'Not for ever')
    await talk(url, 'b', 'Stays')
    const page = await visit(`${url}/#/threads/a`)
    const other = await page.context().newPage()
    await other.goto(`${url}/#/threads/a`)
    // A page behind another one is drawn seldom, and clicks wait for that.
    await page.bringToFront()
    const list = listOf(page)
    await list.choose('Not for ever', 'Delete')
    const dialog = page.getByRole('dialog', { name: 'Delete this thread?' })
    await dialog.getByText('Not for ever').waitFor()
    await dialog.getByRole('button', { name: 'Keep it' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await thread.state()).id).toBe('a')

    await list.choose('Not for ever', 'Delete')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await expect.poll(list.titles, patience).toEqual(['Stays'])
    await expect.poll(() => new URL(page.url()).hash, patience).toBe('#/')
    await expect(thread.state()).rejects.toMatchObject({ code: 'not_found' })
    await other.getByText('This thread was deleted.').waitFor()
    await expect.poll(listOf(other).titles, patience).toEqual(['Stays'])
  })
})

describePage('with nothing but a keyboard', (visit) => {
  test('a thread is searched, its menu gone through, and it is deleted', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'The one')
    await talk(url, 'b', 'The other')
    const page = await visit(url)
    const list = listOf(page)
    const focused = () =>
      page.evaluate(
        () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent,
      )
    await expect.poll(async () => (await list.titles()).length, patience).toBe(2)
    // However soon the next key comes, it is one of the search.
    const focusedAtOnce = () => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 's', bubbles: true }))
      return document.activeElement?.getAttribute('type')
    }
    expect(await page.evaluate(focusedAtOnce)).toBe('search')
    await page.keyboard.type('one')
    await list.nav.getByText('1 found.').waitFor()
    for (const _ of ['the filter', 'the link', 'the menu']) await page.keyboard.press('Tab')
    expect(await focused()).toBe('Actions for The one')
    await page.keyboard.press('ArrowDown')
    expect((await focused())?.trim()).toBe('Open')
    await page.keyboard.press('ArrowUp')
    expect((await focused())?.trim()).toBe('Delete…')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    expect((await focused())?.trim()).toBe('Export as JSON')
    await page.keyboard.press('Escape')
    expect(await focused()).toBe('Actions for The one')
    expect(await page.getByRole('menu').count()).toBe(0)
    await page.keyboard.press('Enter')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Delete this thread?' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await list.nav.getByRole('status').getByText('Nothing found.').waitFor()
    expect((await focused())?.trim()).toBe('New thread')
  })

  test('a thread is opened, and a new one begun', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'The one')
    const page = await visit(url)
    const link = listOf(page).row('The one').getByRole('link')
    await link.focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => link.getAttribute('aria-current'), patience).toBe('page')
    await page.keyboard.press('n')
    await expect.poll(() => new URL(page.url()).hash, patience).toBe('#/')
  })
})

describePage('on a phone', (visit) => {
  test('the list lies over the chat, and goes when a thread is opened', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'The one, with a title that is much too long to fit on the screen of any telephone')
    const page = await visit(url, { viewport: phone })
    await page.getByRole('button', { name: 'Threads' }).click()
    const list = listOf(page)
    await list.row('The one').waitFor()
    await screenshot(page, 'threads-phone')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(phone.width)
    await list.row('The one').getByRole('button', { name: 'Actions' }).click()
    const box = await page.getByRole('menu').boundingBox()
    expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= phone.width).toBe(true)
    await page.keyboard.press('Escape')
    await list.row('The one').getByRole('link').click()
    await expect.poll(() => list.nav.isVisible(), patience).toBe(false)
  })
})
