import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { askedThread, clipboard, eventsOf, longTimeout, openCall, parsed } from './detail.test-kit.ts'
import { copied, describePage, screenshot, textOfDownload } from './page.test-kit.ts'

const script = [
  [{ text: 'Let me look.' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
  'ORD-42 has arrived.',
  'You are welcome.',
]

describePage('the raw events', (visit) => {
  test('can be filtered by kind and text, expanded and copied', async () => {
    const { url, app } = await openDesk({ script })
    const address = await askedThread(url, 'Where is ORD-42?')
    const page = await visit(url, clipboard)
    await page.goto(address)
    const events = eventsOf(page)
    await events.open()
    await expect.poll(events.types, longTimeout).toContain('run-end')
    const all = parsed(await copied(events.panel.getByRole('button', { name: 'Copy shown events' })))
    expect(all).toEqual(await (await app.thread(address.split('/').at(-1) ?? '')).read())

    await events.kind('people').click()
    await expect.poll(events.types, longTimeout).toEqual(['input'])
    await events.kind('runs').click()
    await expect.poll(events.types, longTimeout).toEqual(['input', 'run-start', 'run-end'])
    await events.kind('people').click()
    await events.kind('runs').click()

    await events.panel.getByRole('searchbox').fill('has ARRIVED')
    await expect.poll(events.types, longTimeout).toEqual(['text'])
    const [found] = parsed(await copied(events.panel.getByRole('button', { name: 'Copy shown events' })))
    expect(found?.event).toEqual({ type: 'text', text: 'ORD-42 has arrived.' })
    await events.rows.locator('summary').click()
    await events.panel.getByText('text: "ORD-42 has arrived."', { exact: true }).waitFor()
    const one = await copied(events.panel.getByRole('button', { name: `Copy: Event ${found?.seq}` }))
    expect(JSON.parse(one)).toEqual(found)

    await events.panel.getByRole('searchbox').fill('nowhere in it')
    await events.panel.getByText('No matching events.').waitFor()
    await events.panel.getByRole('button', { name: 'Show all' }).click()
    // Only visible events are rendered, and one of them is expanded.
    await events.panel.getByText(`${all.length} of ${all.length}`, { exact: true }).waitFor()
    await expect.poll(events.types, longTimeout).toContain('run-end')
    await screenshot(page, 'events')
  })

  test.each([320, 640, 1280])('are one line each, and the bar fits, in %d pixels', async (width) => {
    const { url } = await openDesk({ script })
    const page = await visit(url, { viewport: { width, height: 720 } })
    await page.goto(await askedThread(url, 'Where is ORD-42? '.repeat(20)))
    const events = eventsOf(page)
    await events.open()
    await expect.poll(events.types, longTimeout).toContain('run-end')
    const lines = await events.rows.evaluateAll((rows) =>
      rows.map((row) => {
        const [summary, ...texts] = row.querySelectorAll('summary, .events-line > span')
        const { top, right, height } = (summary as Element).getBoundingClientRect()
        const boxes = texts.map((text) => text.getBoundingClientRect()).filter((box) => box.width > 0)
        return {
          height,
          isInOneLine: boxes.every((box) => Math.abs(box.top - top) < 2 && box.right <= right),
          // Each text begins after the one before it has ended.
          isInOrder: boxes.every((box, place) => box.left >= (boxes[place - 1]?.right ?? 0)),
          summaryWidth: boxes.at(-1)?.width ?? 0,
        }
      }),
    )
    expect(lines.length).toBeGreaterThan(5)
    for (const line of lines) {
      expect(line).toMatchObject({ height: 24, isInOneLine: true, isInOrder: true })
      expect(line.summaryWidth).toBeGreaterThan(80)
    }
    const bar = await events.panel.locator('.events-bar').evaluate((element) => {
      const whole = element.getBoundingClientRect()
      const parts = [...element.querySelectorAll('input, button, .events-count')]
      return parts.map((part) => {
        const { left, right, height } = part.getBoundingClientRect()
        return { fits: left >= whole.left && right <= whole.right, isOneLine: height < 36 }
      })
    })
    expect(bar.length).toBeGreaterThan(7)
    for (const part of bar) expect(part).toEqual({ fits: true, isOneLine: true })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await screenshot(page, `events-${width}`)
    await events.rows.first().locator('summary').click()
    await events.panel.getByRole('button', { name: 'Copy: Event 1' }).waitFor()
  })

  test('can be downloaded as JSON lines', async () => {
    const { url } = await openDesk({ script })
    const page = await visit(url)
    await page.goto(await askedThread(url, 'Where is ORD-42?'))
    const events = eventsOf(page)
    await events.open()
    await expect.poll(events.types, longTimeout).toContain('run-end')
    await events.kind('text').click()
    await expect.poll(events.types, longTimeout).not.toContain('run-end')
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      events.panel.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/\.jsonl$/)
    const lines = parsed(await textOfDownload(file))
    expect(lines.map(({ event }) => event.type)).toEqual(await events.types())
  })

  test('can be limited to the selected run, and a call links to its event', async () => {
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
      .poll(() => opened.locator('.events-type').allInnerTexts(), longTimeout)
      .toEqual(['tool-input-start'])
    await thread.send('Thank you!')
    await page.getByText('You are welcome.').first().waitFor()
    await events.kind('selected run only').click()
    await events.kind('people').click()
    await events.kind('runs').click()
    // The input before the run is not part of the run.
    await expect.poll(events.types, longTimeout).toEqual(['run-start', 'run-end'])
  })
})
