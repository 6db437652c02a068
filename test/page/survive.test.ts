import { expect, test } from 'vitest'
import { openDesk, openDeskProcess } from './desk.ts'
import { describePage, say, screenshot, seen } from './page.test-kit.ts'
import { connectionErrors, expectWhole, slow } from './survive.test-kit.ts'

describePage('an answer continues', (visit) => {
  test('after a reload in the middle of it', async () => {
    const { url } = await openDesk({ script: [slow] })
    const page = await visit(url)
    await say(page, 'Count')
    await seen(page).getByText('word5').waitFor()
    await page.reload()
    await seen(page).getByText('word7').waitFor()
    await expectWhole(page)
  })

  test('after a network outage, with a notice', async () => {
    const { url } = await openDesk({ script: [slow] })
    const page = await visit(url, { tolerates: [connectionErrors] })
    await say(page, 'Count')
    await seen(page).getByText('word3').waitFor()
    await page.context().setOffline(true)
    await page.getByText('Connection lost').waitFor()
    await screenshot(page, 'away')
    await page.context().setOffline(false)
    await expectWhole(page)
    await expect.poll(() => page.getByText('Connection lost').count(), { timeout: 60_000 }).toBe(0)
  })

  test('after its server was killed and another took over, with a notice', async () => {
    const desk = await openDeskProcess({ script: [slow, slow] })
    const page = await visit(desk.url, { tolerates: [connectionErrors] })
    await say(page, 'Count')
    await seen(page).getByText('word5').waitFor()
    await desk.kill()
    await page.getByText('Connection lost').waitFor()
    await desk.start()
    await seen(page).getByText('Another one picked this up').waitFor()
    await expectWhole(page)
    await expect.poll(() => page.getByText('Connection lost').count(), { timeout: 60_000 }).toBe(0)
    await screenshot(page, 'taken-over')
    await page.getByRole('button', { name: 'Inspect' }).click()
    await page.getByText('Show as table').click()
    for (const what of ['Page not connected', 'Taken over'])
      await page.getByRole('button', { name: what }).first().waitFor()
  })
})
