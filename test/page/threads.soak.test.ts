import { client } from 'millrace/client'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage, say } from './page.test-kit.ts'
import { answers, listOf, longTimeout, talk } from './threads.test-kit.ts'

describePage('the thread list', (visit) => {
  test('shows quotas that are more than half used', async () => {
    const { url } = await openDesk({ script: answers, app: { quotas: { storedBytes: 1000 } } })
    await talk(url, 'a', 'Hello')
    const page = await visit(url)
    await listOf(page)
      .nav.getByText(/^Used: stored bytes: .* of 1 KB$/)
      .waitFor()
  })

  test('marks the open thread, and takes its status from the log', async () => {
    const { url } = await openDesk({ script: [[{ text: 'Hm' }, { hang: true }]] })
    const page = await visit(url, { tolerates: [/ERR_FAILED.*\/threads\?/] })
    const list = listOf(page)
    await say(page, 'Think about it')
    const row = list.row('Think about it')
    await row.waitFor()
    // From here on the list cannot be refreshed.
    await page.route('**/threads?*', (route) => route.abort())
    expect(await row.getByRole('link').getAttribute('aria-current')).toBe('page')
    await row.getByText('Running').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await row.getByText('Stopped').waitFor()
    await list.nav.getByText("Can't load threads").waitFor()
    await page.unroute('**/threads?*')
    await list.nav.getByText("Can't load threads").waitFor({ state: 'detached' })
  })

  test('sends no requests while the page is hidden, and one when it is shown', async () => {
    const { url } = await openDesk({ script: answers })
    const page = await visit(url)
    await page.clock.install()
    await page.reload()
    const list = listOf(page)
    await list.nav.getByText('No threads yet.').waitFor()
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

  test('keeps the focus when a row moves', async () => {
    const { url } = await openDesk({ script: answers })
    const first = await talk(url, 'a', 'The first')
    for (const title of ['The second', 'The third', 'The fourth']) await talk(url, title.slice(4), title)
    const page = await visit(url)
    // Not every browser has `moveBefore`; without it, moved elements lose the focus.
    await page.addInitScript(() => Reflect.deleteProperty(Element.prototype, 'moveBefore'))
    await page.reload()
    const list = listOf(page)
    await expect
      .poll(list.titles, longTimeout)
      .toEqual(['The fourth', 'The third', 'The second', 'The first'])
    await list.row('The first').getByRole('link').focus()
    await first.send('Again')
    await expect
      .poll(list.titles, longTimeout)
      .toEqual(['The first', 'The fourth', 'The third', 'The second'])
    expect(await page.evaluate(() => document.activeElement?.getAttribute('href'))).toBe('#/threads/a')
  })

  test('loads more while scrolling', async () => {
    const { url } = await openDesk({ script: answers })
    const server = client(url)
    for (let number = 0; number < 120; number++) await server.create({ id: `thread-${number}` })
    const page = await visit(url)
    const list = listOf(page)
    // Only what is visible is rendered; scrolling to the end loads the rest.
    const rows = list.nav.getByRole('list', { name: 'Threads' })
    await expect.poll(list.titles, longTimeout).toContain('thread-119')
    expect((await list.titles()).length).toBeLessThan(50)
    await rows.focus()
    const last = async () => {
      await page.keyboard.press('End')
      return (await list.titles()).at(-1)
    }
    await expect.poll(last, longTimeout).toBe('thread-0')
  })
})

describePage('thread search', (visit) => {
  test('keeps a trailing space while the list is refreshed', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'Money back')
    const page = await visit(url)
    const list = listOf(page)
    await list.search.pressSequentially('money ')
    await list.nav.getByText('1 found.').waitFor()
    // The list is refreshed several times, and the search stays as typed.
    await page.waitForResponse(/search=money$/)
    await page.waitForResponse(/search=money$/)
    await list.search.pressSequentially('back')
    await page.waitForResponse(/search=money(\+|%20)back$/)
    expect(await list.search.inputValue()).toBe('money back')
  })
})

describePage('thread export', (visit) => {
  const script = [
    [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
    'It is there.',
  ]

  test('reports that there is nothing to test yet', async () => {
    const { url } = await openDesk({ script })
    await client(url).create({ id: 'empty' })
    const page = await visit(url, { tolerates: [/status of 400/] })
    await listOf(page).choose('empty', 'Export as test script')
    await page.getByText("Can't export the thread: this thread has no runs yet").waitFor()
  })
})
