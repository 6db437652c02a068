import { client } from 'millrace/client'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { seriousProblems } from './accessibility.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, phone, screenshot, seen } from './page.test-kit.ts'
import { answers, listOf, longTimeout, talk } from './threads.test-kit.ts'

const widthOf = async (page: Page, label: string) =>
  Math.round((await page.getByRole('complementary', { name: label }).boundingBox())?.width ?? 0)

describePage('the layout', (visit) => {
  test('remembers the thread list and the width of the inspector', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'Hello')
    const page = await visit(`${url}/#/threads/a`)
    await seen(page).getByText('So be it.').waitFor()
    const { nav } = listOf(page)
    await nav.getByRole('link').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).focus()
    await page.keyboard.press('Control+b')
    await nav.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Inspect' }).click()
    const edge = page.getByRole('separator', { name: 'Width of the inspector' })
    const before = await widthOf(page, 'Inspector')
    await edge.focus()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => widthOf(page, 'Inspector'), longTimeout).toBe(before + 32)
    await edge.hover()
    await page.mouse.down()
    await page.mouse.move(700, 300)
    await page.mouse.up()
    await expect.poll(() => widthOf(page, 'Inspector'), longTimeout).toBeCloseTo(1280 - 700, -1)
    // The chat keeps enough room.
    for (let presses = 0; presses < 30; presses++) await edge.press('ArrowLeft')
    expect((await page.getByRole('main').boundingBox())?.width).toBeGreaterThanOrEqual(319)

    await page.reload()
    await seen(page).getByText('So be it.').waitFor()
    expect(await nav.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Inspect' }).click()
    expect(await widthOf(page, 'Inspector')).toBeGreaterThan(before + 32)
    await edge.dblclick()
    await expect.poll(() => widthOf(page, 'Inspector'), longTimeout).toBe(before)
    await page.keyboard.press('s')
    await nav.waitFor()
    await page.getByRole('button', { name: 'Threads' }).click()
    await nav.waitFor({ state: 'hidden' })
  })

  test('has no serious problem for axe, in both themes', async () => {
    const { url } = await openDesk({
      script: [[{ call: 'refund_order', input: { id: 'ORD-42' } }], 'Sunny in Lyon.', [{ hang: true }]],
    })
    await talk(url, 'a', 'Refund ORD-42')
    const thread = await talk(url, 'b', 'What is the weather?')
    await thread.send('And now?')
    await thread.fork(2)
    const page = await visit(`${url}/#/threads/b`)
    const list = listOf(page)
    await list.search.fill('lyon')
    await list.filter('Changed', 'Today')
    await list.nav.locator('.threads-match').first().waitFor()
    await list.choose('What is the weather?', 'Copy ID')
    await page.getByText(/^Copied|^Can't copy/).waitFor()
    expect(await seriousProblems(page), 'the list').toEqual([])
    await list.nav.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('dialog', { name: 'Filter threads' }).waitFor()
    expect(await seriousProblems(page), 'the filters').toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command' }).fill('lyon')
    await page.getByRole('dialog').locator('mark').first().waitFor()
    expect(await seriousProblems(page), 'the palette').toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    expect(await seriousProblems(page), 'the help').toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Active runs' }).click()
    await page.getByRole('main').getByRole('link').first().waitFor()
    expect(await seriousProblems(page), 'the runs').toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await seriousProblems(page), 'the runs and the list in the dark').toEqual([])
    await screenshot(page, 'shell-dark')
  })

  test('fits on a screen of 320 pixels, in every view', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'A title that is much too long to fit on the screen of any telephone at all')
    const page = await visit(`${url}/#/threads/a`, { viewport: { ...phone, width: 320 }, hasTouch: true })
    await seen(page).getByText('So be it.').waitFor()
    const list = listOf(page)
    const views: Record<string, () => Promise<unknown>> = {
      thread: () => page.getByRole('button', { name: 'A title' }).waitFor(),
      async threads() {
        await page.getByRole('button', { name: 'Threads' }).click()
        await list.row('A title').waitFor()
      },
      filters: () => list.filter('Status', 'Idle'),
      async toast() {
        await list.choose('A title', 'Delete')
        await page.getByRole('button', { name: 'Undo' }).click()
      },
      async inspector() {
        await page.getByRole('button', { name: 'Inspect' }).click()
        await page.getByRole('tab', { name: 'Events' }).click()
      },
      palette: () => page.keyboard.press('Control+k'),
    }
    for (const [name, open] of Object.entries(views)) {
      await open()
      expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBe(320)
      const bar = page.getByRole('banner').getByRole('button')
      const boxes = await Promise.all((await bar.all()).map((button) => button.boundingBox()))
      const shown = boxes.filter((box) => box !== null)
      for (const [at, { x }] of shown.entries()) {
        const before = shown[at - 1]
        expect(x, `${name}: button ${at} overlaps`).toBeGreaterThanOrEqual(
          before ? before.x + before.width : 0,
        )
      }
    }
  })
})

describePage('a printed page', (visit) => {
  test('has the whole conversation, in light colors, and nothing else', async () => {
    const filler = 'A long line of the answer.\n\n'.repeat(40)
    const { url } = await openDesk({ script: () => filler })
    const thread = await talk(url, 'a', 'The first question')
    for (const question of [...Array.from('abcdef'), 'The last'])
      for await (const _ of thread.follow({ until: await thread.send(question) }));
    const page = await visit(`${url}/#/threads/a`, { colorScheme: 'dark' })
    const first = seen(page).getByText('The first question')
    await seen(page).getByText('The last').waitFor()
    await first.waitFor({ state: 'detached' })
    await page.emulateMedia({ media: 'print' })
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
    await first.waitFor()
    const { height = 0 } = (await seen(page).boundingBox()) ?? {}
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeGreaterThanOrEqual(height)
    expect(height).toBeGreaterThan(8 * 40 * 20)
    expect(await listOf(page).nav.isVisible(), 'the list').toBe(false)
    expect(await page.getByRole('textbox', { name: 'Message' }).isVisible(), 'the message box').toBe(false)
    expect(await page.getByRole('banner').getByRole('button').allTextContents()).toEqual([
      'The first question',
    ])
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe('light')
    await screenshot(page, 'print')
    await page.emulateMedia({ media: 'screen' })
    await page.evaluate(() => dispatchEvent(new Event('afterprint')))
    await first.waitFor({ state: 'detached' })
  })
})

describePage('high contrast and reduced motion', (visit) => {
  test('show what is selected without colors, and nothing moves', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'Hello')
    const page = await visit(`${url}/#/threads/a`, { forcedColors: 'active', reducedMotion: 'reduce' })
    await seen(page).getByText('So be it.').waitFor()
    const outlineOf = (element: Locator) => element.evaluate((one) => getComputedStyle(one).outlineStyle)
    const row = listOf(page).row('Hello').getByRole('link')
    await row.waitFor()
    expect(await outlineOf(row)).toBe('solid')
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: 'Commands' })
    expect(await outlineOf(palette.getByRole('option', { selected: true }))).toBe('solid')
    expect(await outlineOf(palette.getByRole('option', { selected: false }).first())).toBe('none')
    expect(await palette.evaluate((one) => getComputedStyle(one).animationDuration)).toBe('0s')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Inspect' }).click()
    expect(await outlineOf(page.getByRole('tab', { selected: true }))).toBe('solid')
    const bar = page.getByRole('tabpanel').locator('[data-phase="text"]').first()
    expect(await bar.evaluate((one) => getComputedStyle(one).forcedColorAdjust)).toBe('none')
  })
})

describePage('a part of the page that cannot be loaded', (visit) => {
  test('says so, and is loaded on Retry', async () => {
    const { url } = await openDesk({ script: answers })
    const page = await visit(url, { tolerates: [/ERR_FAILED.*runs/] })
    await page.route('**/assets/runs-*', (route) => route.abort())
    await page.getByRole('button', { name: 'Active runs' }).click()
    await page.getByRole('alert').getByText("Can't load this part of the page.").waitFor()
    await page.unroute('**/assets/runs-*')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('No active runs.').waitFor()
  })
})

describePage('toasts', (visit) => {
  test('are announced without taking the focus, at most three, and stay while they are read', async () => {
    const { url } = await openDesk({ script: answers })
    for (const id of ['a', 'b', 'c', 'd']) await client(url).create({ id })
    const page = await visit(url, { tolerates: [/status of 400/] })
    await page.clock.install()
    await page.reload()
    const list = listOf(page)
    const toasts = page.locator('.toast')
    await list.row('a').first().waitFor()
    for (const id of ['a', 'b', 'c', 'd'])
      await page.route(`**/threads/${id}/test-script*`, (route) =>
        route.fulfill({ status: 400, json: { error: { code: 'invalid_input', message: `no ${id}` } } }),
      )
    for (const id of ['a', 'b', 'c', 'd']) {
      await list.nav.locator(`a[href$="/${id}"]`).hover()
      await list.nav.getByRole('button', { name: `Actions for ${id}`, exact: true }).click()
      await page.getByRole('menuitem', { name: 'Export as test script' }).click()
      await page.getByRole('status').getByText(`no ${id}`).waitFor()
    }
    expect(await toasts.count()).toBe(3)
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe(
      'Actions for d',
    )
    await toasts.last().hover()
    await page.clock.runFor(20_000)
    expect(await toasts.count()).toBe(3)
    await page.mouse.move(0, 0)
    await page.clock.runFor(5000)
    await expect.poll(() => toasts.count(), longTimeout).toBe(0)
  })
})
