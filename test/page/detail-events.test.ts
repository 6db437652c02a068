import type { Entry } from 'millrace/client'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { isWhole } from '../size.ts'
import { openDesk } from './desk.ts'
import { askedThread, copied, openCall, patience } from './detail.test-kit.ts'
import { describePage, screenshot, textOfDownload } from './page.test-kit.ts'

const clipboard = { permissions: ['clipboard-read', 'clipboard-write'] }
const script = [
  [{ text: 'Let me look.' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
  'ORD-42 has arrived.',
  'You are welcome.',
]

function eventsOf(page: Page) {
  const panel = page.getByRole('tabpanel', { name: 'Events' })
  const rows = panel.getByRole('listitem')
  return {
    panel,
    rows,
    types: () => rows.locator('.events-type').allInnerTexts(),
    kind: (name: string) => panel.getByRole('button', { name, exact: true }),
    async open() {
      await page.getByRole('button', { name: 'Inspect' }).click()
      await page.getByRole('tab', { name: 'Events' }).click()
    },
  }
}

const parsed = (lines: string): Entry[] =>
  lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describePage('the raw events', (visit) => {
  test('are filtered by kind and by text, opened and copied', async () => {
    const { url, app } = await openDesk({ script })
    const address = await askedThread(url, 'Where is ORD-42?')
    const page = await visit(url, clipboard)
    await page.goto(address)
    const events = eventsOf(page)
    await events.open()
    await expect.poll(events.types, patience).toContain('run-end')
    const all = parsed(await copied(events.panel.getByRole('button', { name: 'Copy all shown' })))
    expect(all).toEqual(await (await app.thread(address.split('/').at(-1) ?? '')).read())

    await events.kind('people').click()
    await expect.poll(events.types, patience).toEqual(['input'])
    await events.kind('runs').click()
    await expect.poll(events.types, patience).toEqual(['input', 'run-start', 'run-end'])
    await events.kind('people').click()
    await events.kind('runs').click()

    await events.panel.getByRole('searchbox').fill('has ARRIVED')
    await expect.poll(events.types, patience).toEqual(['text'])
    const [found] = parsed(await copied(events.panel.getByRole('button', { name: 'Copy all shown' })))
    expect(found?.event).toEqual({ type: 'text', text: 'ORD-42 has arrived.' })
    await events.rows.locator('summary').click()
    await events.panel.getByText('text: "ORD-42 has arrived."', { exact: true }).waitFor()
    const one = await copied(events.panel.getByRole('button', { name: `Copy: Event ${found?.seq}` }))
    expect(JSON.parse(one)).toEqual(found)

    await events.panel.getByRole('searchbox').fill('nowhere in it')
    await events.panel.getByText('There is no such event.').waitFor()
    await events.panel.getByRole('button', { name: 'Show all' }).click()
    // Only as many as there is room for are drawn, and one of them is open.
    await events.panel.getByText(`${all.length} of ${all.length}`, { exact: true }).waitFor()
    await expect.poll(events.types, patience).toContain('run-end')
    await screenshot(page, 'events')
  })

  test('are downloaded as lines of JSON', async () => {
    const { url } = await openDesk({ script })
    const page = await visit(url)
    await page.goto(await askedThread(url, 'Where is ORD-42?'))
    const events = eventsOf(page)
    await events.open()
    await expect.poll(events.types, patience).toContain('run-end')
    await events.kind('text').click()
    await expect.poll(events.types, patience).not.toContain('run-end')
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      events.panel.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/\.jsonl$/)
    const lines = parsed(await textOfDownload(file))
    expect(lines.map(({ event }) => event.type)).toEqual(await events.types())
  })

  test('can be those of the chosen run alone, and one of them is found from its call', async () => {
    const { url, app } = await openDesk({ script })
    const address = await askedThread(url, 'Where is ORD-42?')
    const thread = await app.thread(address.split('/').at(-1) ?? '')
    const page = await visit(url)
    await page.goto(address)
    await page.getByText('has arrived').first().waitFor()
    const detail = await openCall(page, 'lookup_order')
    await detail.getByRole('button', { name: /^Event \d/ }).click()
    const events = eventsOf(page)
    const opened = events.rows.filter({ has: page.locator('[open]') })
    await expect
      .poll(() => opened.locator('.events-type').allInnerTexts(), patience)
      .toEqual(['tool-input-start'])
    await thread.send('Thank you!')
    await page.getByText('You are welcome.').first().waitFor()
    await events.kind('only the chosen run').click()
    await events.kind('people').click()
    await events.kind('runs').click()
    // The question before the run is none of its events.
    await expect.poll(events.types, patience).toEqual(['run-start', 'run-end'])
  })

  test.runIf(isWhole)(
    'of a long thread are drawn as far as they are seen, follow its end, and are found by text',
    async () => {
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
      await expect.poll(async () => (await events.types()).at(-1), patience).toBe('run-end')
      await events.panel.getByRole('searchbox').fill('needle')
      await expect.poll(events.types, patience).toEqual(['stop'])
      expect(await events.rows.first().textContent()).toContain('12345')
      const shown = await copied(events.panel.getByRole('button', { name: 'Copy all shown' }))
      expect(parsed(shown)).toEqual([entries[12_344]])
      expect(await events.panel.locator('*').count()).toBeLessThan(1500)

      await events.panel.getByRole('searchbox').fill('')
      await expect.poll(async () => (await events.types()).length, patience).toBeGreaterThan(3)
      await events.panel.getByRole('list', { name: 'Events' }).focus()
      await page.keyboard.press('Home')
      await events.panel.getByText('for no reason 0', { exact: true }).waitFor()
      await events.panel.getByRole('button', { name: 'Latest' }).click()
      await expect.poll(async () => (await events.types()).at(-1), patience).toBe('run-end')
      expect(await events.panel.locator('*').count()).toBeLessThan(1500)
    },
  )
})
