import { client } from 'millrace/client'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage, say } from './page.test-kit.ts'
import { answers, listOf, patience, talk } from './threads.test-kit.ts'

describePage('the list of threads', (visit) => {
  test('says which quotas are used by more than half', async () => {
    const { url } = await openDesk({ script: answers, app: { quotas: { storedBytes: 1000 } } })
    await talk(url, 'a', 'Hello')
    const page = await visit(url)
    await listOf(page)
      .nav.getByText(/^Used: stored bytes: .* of 1 KB$/)
      .waitFor()
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

  test('asks nothing while the page is hidden, and at once when it is shown', async () => {
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
})

describePage('a thread is exported', (visit) => {
  const script = [
    [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
    'It is there.',
  ]

  test('says so where there is nothing to test yet', async () => {
    const { url } = await openDesk({ script })
    await client(url).create({ id: 'empty' })
    const page = await visit(url, { tolerates: [/status of 400/] })
    await listOf(page).choose('empty', 'Export as test script')
    await page.getByText('The thread cannot be exported: nothing has run in this thread yet').waitFor()
  })
})
