import type { Entry } from 'millrace/client'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { clipboard, eventsOf, longTimeout, parsed } from './detail.test-kit.ts'
import { copied, describePage } from './page.test-kit.ts'

describePage('the raw events', (visit) => {
  test('of a long thread are rendered on demand, follow its end, and can be searched', async () => {
    const { url, store } = await openDesk({ script: ['The very last.'] })
    const entries = Array.from(
      { length: 100_000 },
      (_, index): Entry => ({
        seq: index + 1,
        at: 1_700_000_000_000 + index,
        event: { type: 'stop', reason: index === 12_344 ? 'the needle' : `for no reason ${index}` },
      }),
    )
    await store.create({ id: 'long', agent: 'support' }, { entries })
    const page = await visit(url, clipboard)
    await page.goto(`${url}/#/threads/long`)
    const events = eventsOf(page)
    await events.open()
    await events.panel.getByText('for no reason 99999').waitFor()
    expect(await events.panel.locator('*').count()).toBeLessThan(1500)

    await page.getByRole('textbox', { name: 'Message' }).fill('One more')
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await events.types()).at(-1), longTimeout).toBe('run-end')
    await events.panel.getByRole('searchbox').fill('needle')
    await expect.poll(events.types, longTimeout).toEqual(['stop'])
    expect(await events.rows.first().textContent()).toContain('12345')
    const shown = await copied(events.panel.getByRole('button', { name: 'Copy shown events' }))
    expect(parsed(shown)).toEqual([entries[12_344]])
    expect(await events.panel.locator('*').count()).toBeLessThan(1500)

    await events.panel.getByRole('searchbox').fill('')
    await expect.poll(async () => (await events.types()).length, longTimeout).toBeGreaterThan(3)
    await events.panel.getByRole('list', { name: 'Events' }).focus()
    await page.keyboard.press('Home')
    await events.panel.getByText('for no reason 0', { exact: true }).waitFor()
    await events.panel.getByRole('button', { name: 'Latest' }).click()
    await expect.poll(async () => (await events.types()).at(-1), longTimeout).toBe('run-end')
    expect(await events.panel.locator('*').count()).toBeLessThan(1500)
  })
})
