import type { ScriptStep } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk, openDeskProcess } from './desk.ts'
import { describePage, say, seen } from './page.test-kit.ts'
import { connectionErrors, expectWhole, slow } from './survive.test-kit.ts'

/** Resolves after `times` failed requests: more than a client sends before it gives up. */
async function failedRequests(page: Page, times = 9): Promise<void> {
  let failed = 0
  page.on('requestfailed', (request) => {
    if (request.url().includes('/events')) failed++
  })
  await expect.poll(() => failed, { timeout: 60_000 }).toBeGreaterThanOrEqual(times)
}

describePage('an answer continues', (visit) => {
  test('in another tab, with the same content', async () => {
    const { url } = await openDesk({ script: [slow, 'And that was all.'] })
    const page = await visit(url)
    await say(page, 'Count')
    await seen(page).getByText('word3').waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await seen(other).getByText('word6').waitFor()
    await Promise.all([expectWhole(page), expectWhole(other)])
    await say(other, 'Is that all?')
    await seen(page).getByText('And that was all.').waitFor()
  })

  test('after a long network outage', async () => {
    const { url } = await openDesk({ script: [slow] })
    const page = await visit(url, { tolerates: [connectionErrors] })
    await say(page, 'Count')
    await seen(page).getByText('word3').waitFor()
    await page.context().setOffline(true)
    await failedRequests(page)
    await page.getByText('Connection lost').waitFor()
    await page.context().setOffline(false)
    await expectWhole(page)
    await expect.poll(() => page.getByText('Connection lost').count(), { timeout: 60_000 }).toBe(0)
  })

  test('in a thread that was opened while the server was down', async () => {
    const desk = await openDeskProcess({ script: ['First.', 'Second.'] })
    const page = await visit(desk.url, { tolerates: [connectionErrors] })
    await say(page, 'One')
    await seen(page).getByText('First.').waitFor()
    const address = page.url()
    await page.getByRole('button', { name: 'New thread', exact: true }).click()
    await page.locator('.chat-welcome').waitFor()
    await desk.kill()
    const failed = failedRequests(page)
    await page.evaluate((to) => location.assign(to), address)
    await failed
    await page.getByText('Connection lost').waitFor()
    await desk.start()
    await seen(page).getByText('First.').waitFor()
    await say(page, 'Two')
    await seen(page).getByText('Second.').waitFor()
  })

  test('after its server was killed during an approval, which can still be given', async () => {
    const refund: ScriptStep[] = [
      { text: 'I need your word.' },
      { call: 'refund_order', input: { id: 'ORD-42' } },
    ]
    const desk = await openDeskProcess({ script: [refund, 'It is done.'] })
    const page = await visit(desk.url, { tolerates: [connectionErrors] })
    await say(page, 'Refund ORD-42')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    await desk.kill()
    await desk.start()
    await page.reload()
    await page.getByRole('button', { name: /^allow/i }).click()
    await seen(page).getByText('It is done.').waitFor()
  })
})

describePage('the page', (visit) => {
  test('is served by the process after a killed one', async () => {
    const desk = await openDeskProcess({ script: ['It is on its way.'] })
    const page = await visit(desk.url, { tolerates: [/net::ERR_|WebSocket connection to/] })
    await desk.kill()
    await expect(page.reload()).rejects.toThrow('ERR_CONNECTION_REFUSED')
    await desk.start()
    await page.goto(desk.url)
    await say(page, 'Where is my parcel?')
    await seen(page).getByText('It is on its way.').waitFor()
  })
})
