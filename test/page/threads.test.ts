import { readTranscript } from 'millrace'
import { client } from 'millrace/client'
import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage, phone, screenshot, seen, textOfDownload } from './page.test-kit.ts'
import { answers, listOf, longTimeout, talk } from './threads.test-kit.ts'

describePage('the thread list', (visit) => {
  test('shows new threads and status changes as they happen', async () => {
    const { url } = await openDesk({
      script: [
        [{ text: 'Let me see.' }, { call: 'refund_order', input: { id: 'ORD-42' } }],
        'It is paid back.',
        [{ text: 'Wait' }, { hang: true }],
        [{ error: { code: 'auth', message: 'the key is wrong', status: 401 } }],
      ],
    })
    const page = await visit(url)
    const list = listOf(page)
    const { nav } = list
    await nav.getByText('No threads yet.').waitFor()
    const thread = await talk(url, 'a', 'Money back, please')
    const row = list.row('Money back, please')
    await row.getByText('Waiting').waitFor()
    await screenshot(page, 'threads-waiting')
    const [request] = (await thread.state()).approvals
    await thread.approve(request?.callId ?? '', { approved: true })
    // There is nothing to say about a thread that is done.
    await expect.poll(() => row.locator('.threads-status').count(), longTimeout).toBe(0)
    await thread.send('Another one')
    await row.getByText('Running').waitFor()
    await thread.stop()
    await row.getByText('Stopped').waitFor()
    await nav.getByRole('heading', { name: 'Today' }).waitFor()
    const fork = await thread.fork((await thread.state()).head, { id: 'fork' })
    const forked = list.row('Fork · just now')
    expect(await forked.locator('.threads-fork').getAttribute('title')).toMatch(
      /^Fork of Money back, please at entry \d+, /,
    )
    await fork.send('Once more')
    await forked.getByText('Failed').waitFor()
    expect(await row.first().getByRole('link').getAttribute('aria-current')).toBeNull()
  })
})

describePage('thread search', (visit) => {
  test('finds threads by their messages and answers, and filters them, on the server', async () => {
    const { url } = await openDesk({
      script: [[{ hang: true }], 'Sunny in Lyon.', [{ call: 'list_orders', input: {} }], 'Rainy.'],
    })
    const busy = await client(url).create({ id: 'busy' })
    await busy.send('Where is my order 42?')
    await talk(url, 'b', 'What is the weather?')
    await talk(url, 'c', 'And the weather of order 42?')
    const page = await visit(url)
    const list = listOf(page)
    await expect.poll(async () => (await list.titles()).length, longTimeout).toBe(3)
    await page.keyboard.press('s')
    await page.keyboard.type('order WHERE')
    await list.nav.getByText('1 found.').waitFor()
    expect(await list.titles()).toEqual(['Where is my order 42?'])
    await list.search.fill('nothing like that')
    await list.nav.getByRole('status').getByText('No threads found.').waitFor()
    expect(await list.titles()).toEqual([])

    await list.search.fill('lyon')
    const found = list.row('What is the weather?')
    await found.locator('.threads-match').getByText('Sunny in Lyon.').waitFor()
    expect(await found.locator('mark').allTextContents()).toEqual(['Lyon'])
    await list.search.fill('')
    await expect.poll(async () => (await list.titles()).length, longTimeout).toBe(3)

    await list.filter('Status', 'Idle')
    await list.nav.getByText('2 found.').waitFor()
    await list.filter('Tool', 'list_orders')
    await expect.poll(list.titles, longTimeout).toEqual(['And the weather of order 42?'])
    expect(
      await list.nav.getByRole('list', { name: 'Filters' }).getByRole('listitem').allTextContents(),
    ).toEqual(['Idle', 'Tool: list_orders'])
    for (const name of ['Tool: list_orders', 'Idle'])
      await list.nav.getByRole('button', { name: `Remove the filter ${name}` }).click()
    await expect.poll(async () => (await list.titles()).length, longTimeout).toBe(3)
    await list.filter('Changed', 'Today')
    await list.nav.getByText('3 found.').waitFor()
    await list.filter('Outcome', 'Failed')
    await list.nav.getByText('No threads found.').waitFor()
    await list.nav.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect.poll(async () => (await list.titles()).length, longTimeout).toBe(3)
  })

  test('opens a thread at the message that was found', async () => {
    const filler = Array.from({ length: 60 }, (_, line) => `Line ${line} of the first answer.`).join('\n\n')
    const { url } = await openDesk({ script: [`The hub is in Lyon.\n\n${filler}`, 'Short.'] })
    const thread = await talk(url, 'a', 'Where is it?')
    for await (const _ of thread.follow({ until: await thread.send('Thanks') }));
    const page = await visit(url)
    const list = listOf(page)
    await list.search.fill('lyon')
    await list.row('Where is it?').locator('mark').first().click()
    await expect.poll(() => isInView(seen(page).getByText('The hub is in Lyon.')), longTimeout).toBe(true)
  })
})

/** Whether an element is on the screen, and not only in the page. */
async function isInView(element: Locator): Promise<boolean> {
  const box = await element.boundingBox()
  return box !== null && box.y >= 0 && box.y < 800
}

describePage('thread export', (visit) => {
  const script = [
    [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
    'It is there.',
  ]

  test('as JSON has the transcript and the log', async () => {
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

  test('as a test script replays the thread', async () => {
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
})

describePage('renaming a thread', (visit) => {
  test('works in the list and in the bar, for everyone', async () => {
    const { url } = await openDesk({ script: answers })
    const thread = await talk(url, 'a', 'A long and winding question')
    const page = await visit(`${url}/#/threads/a`)
    const list = listOf(page)
    await list.choose('A long and winding question', 'Rename')
    const input = page.getByRole('textbox', { name: 'Title' })
    expect(await input.inputValue()).toBe('A long and winding question')
    await page.keyboard.type('Never')
    await page.keyboard.press('Escape')
    await input.waitFor({ state: 'detached' })
    expect(await list.titles()).toEqual(['A long and winding question'])

    await list.row('A long').getByRole('link').focus()
    await page.keyboard.press('F2')
    await page.keyboard.type('Lamp')
    await page.keyboard.press('Enter')
    await expect.poll(list.titles, longTimeout).toEqual(['Lamp'])
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toMatch(/^Lamp/)
    await expect.poll(() => page.title()).toBe('Lamp · Millrace')
    const bar = page.getByRole('banner')
    await thread.rename('Desk lamp')
    await bar.getByRole('button', { name: 'Desk lamp' }).click()
    await page.keyboard.type('Table lamp')
    await page.keyboard.press('Enter')
    await expect.poll(list.titles, longTimeout).toEqual(['Table lamp'])
    await bar.getByRole('button', { name: 'Table lamp' }).waitFor()
    const { threads } = await client(url).threads()
    expect(threads[0]?.title).toBe('Table lamp')

    // A title from right to left is cut at its end, too.
    await thread.rename(`שלום ${'עולם '.repeat(20)}`)
    const title = list.row('שלום').locator('.threads-title')
    expect(await title.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl')
  })
})

describePage('deleting a thread', (visit) => {
  test('can be undone for a while, and is for everyone', async () => {
    const { url } = await openDesk({ script: answers })
    const thread = await talk(url, 'a', 'Not for ever')
    await talk(url, 'b', 'Stays')
    const page = await visit(`${url}/#/threads/a`)
    const other = await page.context().newPage()
    await other.goto(`${url}/#/threads/a`)
    // A background page is rendered rarely, and clicks wait for a frame.
    await page.bringToFront()
    const list = listOf(page)
    const toast = page.getByRole('status').getByText('Thread deleted.')
    const hash = () => new URL(page.url()).hash
    await list.choose('Not for ever', 'Delete')
    await expect.poll(list.titles, longTimeout).toEqual(['Stays'])
    await expect.poll(hash, longTimeout).toBe('#/')
    await toast.waitFor()
    expect((await thread.state()).id).toBe('a')
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(list.titles, longTimeout).toEqual(['Stays', 'Not for ever'])
    await expect.poll(hash, longTimeout).toBe('#/threads/a')
    expect(await toast.count()).toBe(0)

    // Without the mouse: Ctrl+Z undoes it, too, in an empty message box.
    await list.row('Not for ever').getByRole('link').focus()
    await page.keyboard.press('Delete')
    await expect.poll(list.titles, longTimeout).toEqual(['Stays'])
    await page.keyboard.press('Control+z')
    await expect.poll(list.titles, longTimeout).toEqual(['Stays', 'Not for ever'])

    await list.choose('Not for ever', 'Delete')
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await expect
      .poll(
        () =>
          thread.state().then(
            () => '',
            (error) => error.code,
          ),
        longTimeout,
      )
      .toBe('not_found')
    await other.getByText('This thread was deleted.').waitFor()
    await expect.poll(listOf(other).titles, longTimeout).toEqual(['Stays'])
  })

  test('is sent when another is deleted, when its time is over, and when the page is closed', async () => {
    const { url } = await openDesk({ script: answers })
    const titles = async () => (await client(url).threads()).threads.map(({ title }) => title).sort()
    for (const title of ['One', 'Two', 'Three']) await talk(url, title.toLowerCase(), title)
    const page = await visit(url)
    await page.clock.install()
    await page.reload()
    const list = listOf(page)
    await list.choose('One', 'Delete')
    await list.choose('Two', 'Delete')
    await expect.poll(titles, longTimeout).toEqual(['Three', 'Two'])
    await page.clock.runFor(7000)
    expect(await titles()).toEqual(['Three', 'Two'])
    await page.clock.runFor(2000)
    await expect.poll(titles, longTimeout).toEqual(['Three'])
    await list.choose('Three', 'Delete')
    await page.goto('about:blank')
    await expect.poll(titles, longTimeout).toEqual([])
  })

  test('that is running stops its run', async () => {
    const { url } = await openDesk({ script: [[{ text: 'Hm' }, { hang: true }]] })
    const thread = await client(url).create({ id: 'busy' })
    await thread.send('Think about it')
    const page = await visit(url)
    const list = listOf(page)
    await list.row('Think about it').getByText('Running').waitFor()
    await list.choose('Think about it', 'Delete')
    await list.nav.getByText('No threads yet.').waitFor()
    await page.getByRole('button', { name: 'Active runs' }).click()
    await page.getByText('No active runs.').waitFor()
    // It runs until the deletion can no longer be undone.
    expect((await thread.state()).status).toBe('running')
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await expect.poll(() => thread.state().catch(({ code }) => code), longTimeout).toBe('not_found')
  })

  test('that fails brings the thread back, with the reason', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'Stays')
    const page = await visit(url, { tolerates: [/status of 403/] })
    await page.route('**/threads/a', (route) =>
      route.fulfill({ status: 403, json: { error: { code: 'auth', message: 'this thread is locked' } } }),
    )
    const list = listOf(page)
    await list.choose('Stays', 'Delete')
    await expect.poll(list.titles, longTimeout).toEqual([])
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page
      .getByRole('status')
      .getByText(/^Can't delete the thread: .*locked/)
      .waitFor()
    await expect.poll(list.titles, longTimeout).toEqual(['Stays'])
  })
})

describePage('with only a keyboard', (visit) => {
  test('a user can search, use the menu and delete a thread', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'The one')
    await talk(url, 'b', 'The other')
    const page = await visit(url)
    const list = listOf(page)
    const focused = () =>
      page.evaluate(
        () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent,
      )
    await expect.poll(async () => (await list.titles()).length, longTimeout).toBe(2)
    // The search has the focus immediately, so that the next key goes there.
    const focusedAtOnce = () => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 's', bubbles: true }))
      return document.activeElement?.getAttribute('type')
    }
    expect(await page.evaluate(focusedAtOnce)).toBe('search')
    await page.keyboard.type('one')
    await list.nav.getByText('1 found.').waitFor()
    for (const _ of ['the filter', 'the list', 'the link', 'the menu']) await page.keyboard.press('Tab')
    expect(await focused()).toBe('Actions for The one')
    await page.keyboard.press('ArrowDown')
    expect((await focused())?.trim()).toBe('Open')
    await page.keyboard.press('ArrowUp')
    expect((await focused())?.trim()).toBe('Delete')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    expect((await focused())?.trim()).toBe('Rename')
    await page.keyboard.press('Escape')
    expect(await focused()).toBe('Actions for The one')
    expect(await page.getByRole('menu').count()).toBe(0)
    await page.keyboard.press('Enter')
    await page.keyboard.press('End')
    await page.keyboard.press('Enter')
    await page.getByText('Thread deleted.').waitFor()
    await expect.poll(focused).toContain('New thread')
    expect(await list.titles()).toEqual([])
  })

  test('a user can open a thread and start a new one', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'The one')
    const page = await visit(url)
    const link = listOf(page).row('The one').getByRole('link')
    await link.focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => link.getAttribute('aria-current'), longTimeout).toBe('page')
    await page.keyboard.press('n')
    await expect.poll(() => new URL(page.url()).hash, longTimeout).toBe('#/')
  })
})

describePage('on a phone', (visit) => {
  test('the list covers the chat, and closes when a thread is opened', async () => {
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
    await expect.poll(() => list.nav.isVisible(), longTimeout).toBe(false)
  })
})
