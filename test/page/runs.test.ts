import { client } from 'millrace/client'
import type { ScriptStep } from 'millrace/testing'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage, phone, screenshot } from './page.test-kit.ts'
import { longTimeout, talk } from './threads.test-kit.ts'

const hang: ScriptStep[] = [{ text: 'Hm' }, { hang: true }]

describePage('the active runs', (visit) => {
  test('are listed live, and can be stopped one by one or all at once', async () => {
    const { url } = await openDesk({
      script: [[{ call: 'refund_order', input: { id: 'ORD-42' } }], hang, hang, hang],
    })
    const page = await visit(url, { tolerates: [/status of 400/] })
    await page.getByRole('button', { name: 'Active runs' }).click()
    const list = page.getByRole('list', { name: 'Active runs' })
    const rows = list.getByRole('listitem')
    await page.getByText('No active runs.').waitFor()
    await talk(url, 'waits', 'Refund ORD-42')
    const waiting = rows.filter({ hasText: 'Refund ORD-42' })
    await waiting.getByText('Waiting').waitFor()
    await waiting.getByText('support · changed just now').waitFor()
    for (const id of ['one', 'two', 'three']) await (await client(url).create({ id })).send(`Number ${id}`)
    await expect.poll(() => rows.count(), longTimeout).toBe(4)
    await screenshot(page, 'runs')

    await list.getByRole('button', { name: 'Stop Number two' }).click()
    await rows.filter({ hasText: 'Number two' }).waitFor({ state: 'detached' })
    await page.route('**/threads?*', (route) => route.fulfill({ status: 400, json: {} }))
    await page.getByRole('main').getByText("Can't load the runs. Retrying…").waitFor()
    expect(await rows.count()).toBe(3)
    await page.unroute('**/threads?*')
    await page.getByRole('main').getByText("Can't load the runs.").waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Stop all' }).click()
    const dialog = page.getByRole('dialog', { name: 'Stop 3 runs?' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await rows.count()).toBe(3)
    await page.getByRole('button', { name: 'Stop all' }).click()
    await dialog.getByRole('button', { name: 'Stop all' }).click()
    await page.getByText('No active runs.').waitFor()
    const { threads } = await client(url).threads({ outcome: 'canceled' })
    expect(threads).toHaveLength(4)
  })

  test('have an address, and fit on a small phone', async () => {
    const { url } = await openDesk({ script: [hang] })
    const thread = await client(url).create()
    await thread.send('A title that is much too long to fit on the screen of any telephone at all')
    const page = await visit(`${url}/#/runs`, { viewport: { ...phone, width: 320 } })
    await page.getByRole('main').getByRole('link', { name: 'A title' }).click()
    await expect.poll(() => new URL(page.url()).hash, longTimeout).toBe(`#/threads/${thread.id}`)
    await page.goBack()
    await page.getByRole('main').getByRole('link', { name: 'A title' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
  })
})
