import type { CDPSession, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { longLog } from '../../bench/page/long-log.ts'
import { openDesk } from '../page/desk.ts'
import { describePage, say, seen } from '../page/page.test-kit.ts'

/** The DOM nodes that the browser keeps, in the document or not, and the number of layouts. */
async function countsOf(session: CDPSession) {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const counts = Object.fromEntries(metrics.map(({ name, value }) => [name, value]))
  return { nodes: counts.Nodes, layouts: counts.LayoutCount }
}

const elementsOf = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length)

describePage('a thread of 100,000 events', (visit) => {
  test('is opened at its end, and only what is visible is drawn', async () => {
    const { entries, turns } = longLog(100_000)
    const { url, store } = await openDesk({ script: ['One more answer.'] })
    await store.create({ id: 'long', agent: 'support' }, { entries })
    // The page waits and continues when it exceeds the rate limit.
    const page = await visit(url, { tolerates: [/429.*\/events/] })
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))

    await page.goto(`${url}/#/threads/long`)
    await seen(page).getByText(`Answer ${turns}.`).waitFor()
    const { nodes, layouts } = await countsOf(session)
    expect(await elementsOf(page)).toBeLessThan(1000)
    expect(nodes).toBeLessThan(5000)
    expect(layouts).toBeLessThan(200)
    expect(requests.filter((address) => address.includes('/events')).length).toBeLessThanOrEqual(50)

    await page.getByRole('button', { name: 'Inspect' }).click()
    for (const tab of ['Events', 'Timeline', 'Detail']) {
      await page.getByRole('tab', { name: tab }).click()
      // Not even the list of runs has an element for each.
      expect(await elementsOf(page)).toBeLessThan(2000)
    }
    await say(page, 'One more?')
    await seen(page).getByText('One more answer.').waitFor()
    expect(await elementsOf(page)).toBeLessThan(2000)
  })
})
