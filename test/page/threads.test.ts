import { readTranscript } from 'millrace'
import { client } from 'millrace/client'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage, phone, screenshot, textOfDownload } from './page.test-kit.ts'
import { answers, listOf, longTimeout, talk } from './threads.test-kit.ts'

describePage('the thread list', (visit) => {
  test('shows new threads and status changes as they happen', async () => {
    const { url } = await openDesk({
      script: [
        [{ text: 'Let me see.' }, { call: 'refund_order', input: { id: 'ORD-42' } }],
        'It is paid back.',
        [{ text: 'Wait' }, { hang: true }],
      ],
    })
    const page = await visit(url)
    const list = listOf(page)
    await list.nav.getByText('No threads yet.').waitFor()
    const thread = await talk(url, 'a', 'Money back, please')
    const row = list.row('Money back, please')
    await row.getByText('Waiting').waitFor()
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
})

describePage('thread search', (visit) => {
  test('finds threads by text and status, on the server', async () => {
    const { url } = await openDesk({ script: [[{ hang: true }], 'Sunny.', 'Rainy.'] })
    const busy = await client(url).create({ id: 'busy' })
    await busy.send('Where is my order 42?')
    await talk(url, 'b', 'What is the weather?')
    await talk(url, 'c', 'And the weather of order 42?')
    const page = await visit(url)
    const list = listOf(page)
    await expect.poll(async () => (await list.titles()).length, longTimeout).toBe(3)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('order WHERE')
    await list.nav.getByText('1 found.').waitFor()
    expect(await list.titles()).toEqual(['Where is my order 42?'])
    await list.search.fill('nothing like that')
    await list.nav.getByRole('status').getByText('No threads found.').waitFor()
    expect(await list.titles()).toEqual([])
    await list.search.fill('')
    await expect.poll(async () => (await list.titles()).length, longTimeout).toBe(3)
    await list.nav.getByRole('combobox').selectOption('Idle')
    await list.nav.getByText('2 found.').waitFor()
    await list.nav.getByRole('combobox').selectOption('Running')
    await expect.poll(list.titles, longTimeout).toEqual(['Where is my order 42?'])
  })
})

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

describePage('deleting a thread', (visit) => {
  test('asks for confirmation, and deletes it for everyone', async () => {
    const { url } = await openDesk({ script: answers })
    const thread = await talk(url, 'a', 'Not for ever')
    await talk(url, 'b', 'Stays')
    const page = await visit(`${url}/#/threads/a`)
    const other = await page.context().newPage()
    await other.goto(`${url}/#/threads/a`)
    // A background page is rendered rarely, and clicks wait for a frame.
    await page.bringToFront()
    const list = listOf(page)
    await list.choose('Not for ever', 'Delete')
    const dialog = page.getByRole('dialog', { name: 'Delete this thread?' })
    await dialog.getByText('Not for ever').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await thread.state()).id).toBe('a')

    await list.choose('Not for ever', 'Delete')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await expect.poll(list.titles, longTimeout).toEqual(['Stays'])
    await expect.poll(() => new URL(page.url()).hash, longTimeout).toBe('#/')
    await expect(thread.state()).rejects.toMatchObject({ code: 'not_found' })
    await other.getByText('This thread was deleted.').waitFor()
    await expect.poll(listOf(other).titles, longTimeout).toEqual(['Stays'])
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
    await list.nav.getByRole('status').getByText('No threads found.').waitFor()
    expect((await focused())?.trim()).toBe('New thread')
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
