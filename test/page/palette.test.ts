import { agent, tool } from 'millrace'
import { client } from 'millrace/client'
import { scriptedModel } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openDesk } from './desk.ts'
import { describePage, phone, say, screenshot, seen, textOfDownload } from './page.test-kit.ts'
import { answers, listOf, longTimeout, talk } from './threads.test-kit.ts'

/** Actions and locators of the command palette. */
function paletteOf(page: Page) {
  const dialog = page.getByRole('dialog', { name: 'Commands' })
  const input = dialog.getByRole('combobox')
  return {
    dialog,
    input,
    options: () => dialog.getByRole('option').allTextContents(),
    /** Without keys. */
    labels: () => dialog.locator('.palette-label').allTextContents(),
    selected: () => dialog.getByRole('option', { selected: true }).textContent(),
    async open() {
      await page.keyboard.press('Control+k')
      await input.waitFor()
    },
    /** Opens it, types, and runs the command that is found first. */
    async run(typed: string, label: string) {
      await page.keyboard.press('Control+k')
      await input.fill(typed)
      await expect.poll(this.selected, longTimeout).toMatch(label)
      await input.press('Enter')
      await dialog.waitFor({ state: 'detached' })
    },
  }
}

const deskOptions = {
  name: 'support',
  system: 'Be kind.',
  tools: [
    tool({
      name: 'refund',
      description: 'Refunds an order.',
      input: z.object({ id: z.string() }),
      approve: () => 'Refund it?',
      run: () => 'refunded',
    }),
  ],
}

/** Only changes what is shown; for the keyboard there is another way, such as Tab, Enter or Escape. */
const shows = ''

/** The command for each button; a new button needs one. */
const commandOf: readonly (readonly [RegExp, string])[] = [
  [/^(Skip to chat|Commands|Actions for|Open$|Details|Thread |Send$|Close inspector)/, shows],
  [/^(Expand to full width|Edit arguments|Add a reason|Remove the filter|Copy:|Show |Copy message)/, shows],
  [/^Threads$/, 'Toggle thread list'],
  [/^New thread$/, 'New thread'],
  [/^Import…$/, 'Import thread…'],
  [/^Filter$/, 'Filter threads…'],
  [/^(Rename$|Hello$|Refund ORD-42$)/, 'Rename thread'],
  [/^Export as JSON$/, 'Export thread as JSON'],
  [/^Export as HTML$/, 'Export thread as HTML'],
  [/^Export as test script$/, 'Export thread as test script'],
  [/^Copy ID$/, 'Copy thread ID'],
  [/^Delete$/, 'Delete thread'],
  [/^Active runs$/, 'Active runs'],
  [/^Theme: system/, 'Theme: light'],
  [/^Keyboard shortcuts$/, 'Keyboard shortcuts'],
  [/^Inspect$/, 'Toggle inspector'],
  [/^Attach an image$/, 'Attach an image'],
  [/^Edit message$/, 'Edit the last message'],
  [/^Copy answer$/, 'Copy the last answer'],
  [/^Retry$/, 'Retry the last answer'],
  [/^Good answer$/, 'Good answer'],
  [/^Bad answer$/, 'Bad answer'],
  [/^Fork$/, 'Fork thread'],
  [/^Timeline$/, 'Inspector: Timeline'],
  [/^Compare…$/, 'Inspector: Compare'],
  [/^Show agent$/, 'Agent set-up'],
  [/^Open in playground$/, 'Inspector: Open the'],
  [/^Allow$/, 'Allow: '],
  [/^Deny$/, 'Deny: '],
  [/^Stop/, 'Stop the run'],
]

/** The accessible names of all buttons that are shown; in the inspector, of those that do something. */
async function buttonsOf(page: Page): Promise<readonly string[]> {
  const names = (elements: Element[]) =>
    elements
      .filter((element) => !element.closest('[role="tabpanel"]') || element.closest('.detail-actions'))
      .map((element) => (element.ariaLabel ?? element.textContent ?? '').trim())
  const found = await Promise.all(
    (['button', 'menuitem'] as const).map((role) => page.getByRole(role).evaluateAll(names)),
  )
  return found.flat()
}

describePage('the command palette', (visit) => {
  test('opens again while it is still closing', async () => {
    const { url } = await openDesk({ script: answers })
    const page = await visit(url)
    const palette = paletteOf(page)
    await palette.open()
    await page.evaluate(() => {
      // The dialog reports this in a later task.
      document.querySelector('dialog')?.close()
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, cancelable: true }))
    })
    await palette.input.fill('dark')
    await expect.poll(palette.selected, longTimeout).toMatch('Theme: dark')
  })

  test('runs every command of the page by keyboard', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'The first one')
    const page = await visit(`${url}/#/threads/a`)
    await seen(page).getByText('So be it.').waitFor()
    const palette = paletteOf(page)
    const hash = () => new URL(page.url()).hash

    // It also opens while the user is typing, and gives the focus back.
    await page.getByRole('textbox', { name: 'Message' }).focus()
    await palette.open()
    const all = await palette.options()
    expect(all.find((option) => option.startsWith('New thread'))).toBe('New threadn')
    // Nothing runs that could be stopped.
    expect(all.join()).not.toContain('Stop the run')
    await page.keyboard.press('Escape')
    await palette.dialog.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Message')

    await palette.run('events', 'Inspector: Events')
    await page.getByRole('tab', { name: 'Events', selected: true }).waitFor()
    await palette.run('dark', 'Theme: dark')
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
    await palette.run('shortcuts', 'Keyboard shortcuts')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Commands').waitFor()
    await page.keyboard.press('Escape')
    const download = page.waitForEvent('download')
    await palette.run('json', 'Export thread as JSON')
    const exported = await textOfDownload(await download)

    await palette.run('rename', 'Rename thread')
    await page.keyboard.type('Renamed')
    await page.keyboard.press('Enter')
    await expect.poll(listOf(page).titles, longTimeout).toEqual(['Renamed'])
    await palette.run('fork', 'Fork thread')
    await expect.poll(hash, longTimeout).not.toBe('#/threads/a')
    const fork = hash()
    await palette.run('delete', 'Delete thread')
    await expect.poll(hash, longTimeout).toBe('#/')
    await palette.run('undo', 'Undo')
    await expect.poll(hash, longTimeout).toBe(fork)

    const chooser = page.waitForEvent('filechooser')
    await palette.run('import', 'Import thread…')
    const file = { name: 'thread.json', mimeType: 'application/json', buffer: Buffer.from(exported) }
    await (await chooser).setFiles(file)
    await page.getByRole('status').getByText('Imported The first one.').waitFor()
    expect((await client(url).threads()).threads).toHaveLength(3)
    await palette.run('new thread', 'New thread')
    await expect.poll(hash, longTimeout).toBe('#/')
  })

  test('has everything that the buttons of the page do', async () => {
    const { url } = await openDesk({
      agents: (model) => ({
        support: agent({ ...deskOptions, model, models: [scriptedModel([], { id: 'large' })] }),
      }),
      script: ['So be it.', [{ call: 'refund', input: { id: 'ORD-42' } }]],
    })
    await talk(url, 'done', 'Hello')
    await talk(url, 'asks', 'Refund ORD-42')
    const page = await visit(`${url}/#/threads/done`)
    const palette = paletteOf(page)
    const buttons = new Map<string, string>()
    const found = new Set<string>()
    /** Reads the names of all buttons of a view, and the commands there. */
    async function look(view: string): Promise<void> {
      for (const name of await buttonsOf(page)) buttons.set(name, view)
      await page.keyboard.press('Escape')
      await palette.open()
      for (const label of await palette.labels()) found.add(label)
      await page.keyboard.press('Escape')
      await palette.dialog.waitFor({ state: 'detached' })
    }
    await seen(page).getByText('So be it.').waitFor()
    const list = listOf(page)
    await list.row('Hello').getByRole('button', { name: 'Actions' }).click()
    await page.getByRole('menu').waitFor()
    await look('the menu of a thread')
    await list.filter('Status', 'Idle')
    await look('a filtered list')
    await page.getByRole('button', { name: 'Inspect' }).click()
    await page.getByRole('tab', { name: 'Detail' }).click()
    await page.getByRole('table', { name: 'Runs of this thread' }).getByRole('button').first().click()
    await page.getByRole('button', { name: 'Compare…' }).waitFor()
    await look('a run')
    await page.getByRole('button', { name: 'Round 1' }).click()
    await page.getByRole('button', { name: 'Open in playground' }).waitFor()
    await look('a round')
    await page.goto(`${url}/#/threads/asks`)
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    await look('a call that waits')
    await page.goto(`${url}/#/runs`)
    await page.getByRole('button', { name: 'Stop Refund' }).waitFor()
    await look('the active runs')

    const missing = [...buttons].filter(([button]) => {
      const command = commandOf.find(([pattern]) => pattern.test(button))?.[1]
      return command === undefined || ![...found].some((label) => label.startsWith(command))
    })
    expect(missing).toEqual([])
    // Not a button, but a choice.
    expect([...found]).toContain('Model: large')
  })

  test('lists what can be done with the open thread first', async () => {
    const { url } = await openDesk({
      script: ['So be it.', [{ call: 'refund_order', input: { id: 'ORD-43' } }], 'Done.'],
    })
    await talk(url, 'a', 'Hello')
    const thread = await talk(url, 'b', 'Refund ORD-43')
    const page = await visit(url)
    const palette = paletteOf(page)
    await listOf(page).row('Refund ORD-43').waitFor()
    const groups = () =>
      palette.dialog.getByRole('group').evaluateAll((all) => all.map((one) => one.ariaLabel))
    await palette.open()
    expect(await groups()).toEqual(['Recent threads', 'Commands'])
    await page.keyboard.press('Escape')
    await listOf(page).row('Refund ORD-43').getByRole('link').click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    await palette.open()
    expect(await groups()).toEqual(['This thread', 'Recent threads', 'Commands'])
    expect(await palette.selected()).toContain('Rename thread')
    await page.keyboard.press('Escape')

    await palette.run('deny', 'Deny: Refund €49.00 for ORD-43?')
    await seen(page).getByText('Done.').waitFor()
    expect((await thread.state()).approvals).toEqual([])
    await palette.run('edit', 'Edit the last message')
    expect(await page.getByRole('textbox', { name: 'Edit your message' }).inputValue()).toBe('Refund ORD-43')
    await page.keyboard.press('Escape')
    await palette.run('bad', 'Bad answer')
    await page.getByRole('button', { name: 'Bad answer', pressed: true }).waitFor()
  })

  test('opens threads by title and by what was said, and stops the run', async () => {
    const { url } = await openDesk({ script: ['Sunny in Lyon.', 'Rainy.', [{ text: 'Hm' }, { hang: true }]] })
    await talk(url, 'a', 'What is the weather?')
    await talk(url, 'b', 'And tomorrow?')
    const page = await visit(url)
    const palette = paletteOf(page)
    await listOf(page).row('And tomorrow?').waitFor()
    await palette.open()
    await palette.dialog.getByRole('group', { name: 'Recent threads' }).getByText('And tomorrow?').waitFor()
    await palette.input.fill('lyon')
    const found = palette.dialog.getByRole('group', { name: 'Threads' }).getByRole('option')
    await found.locator('mark').getByText('Lyon').waitFor()
    await expect.poll(palette.selected, longTimeout).toContain('What is the weather?')
    expect(await palette.input.getAttribute('aria-activedescendant')).toBe(await found.getAttribute('id'))
    await screenshot(page, 'palette')
    await page.keyboard.press('Enter')
    await seen(page).getByText('Sunny in Lyon.').waitFor()

    await say(page, 'Think')
    await seen(page).getByText('Hm').waitFor()
    await palette.run('stop', 'Stop the run')
    await listOf(page).row('What is the weather?').getByText('Stopped').waitFor()

    await palette.open()
    await palette.input.fill('zzzz')
    await palette.dialog.getByText('Nothing found.').waitFor()
    await page.keyboard.press('Enter')
    await palette.input.fill('')
    // Arrows wrap around.
    await expect.poll(palette.selected, longTimeout).toContain('Rename thread')
    const first = await palette.selected()
    await page.keyboard.press('ArrowUp')
    expect(await palette.selected()).toBe((await palette.options()).at(-1))
    await page.keyboard.press('ArrowDown')
    expect(await palette.selected()).toBe(first)
  })

  test('takes what is typed while it is being loaded from the shortcuts', async () => {
    const { url } = await openDesk({ script: answers })
    await talk(url, 'a', 'Hello')
    const page = await visit(`${url}/#/threads/a`)
    await seen(page).getByText('So be it.').waitFor()
    const { promise: isTyped, resolve: load } = Promise.withResolvers<void>()
    await page.route('**/assets/palette-*.js', async (route) => {
      await isTyped
      await route.continue()
    })
    await page.locator('main').focus()
    const { height } = (await page.getByRole('main').boundingBox()) ?? {}
    await page.keyboard.press('Control+k')
    await page.getByText('Loading…').waitFor({ state: 'attached' })
    await page.keyboard.type('n')
    expect(new URL(page.url()).hash).toBe('#/threads/a')
    expect((await page.getByRole('main').boundingBox())?.height).toBe(height)
    load()
    await paletteOf(page).input.waitFor()
  })

  test('works on a phone', async () => {
    const { url } = await openDesk({ script: answers })
    const page = await visit(url, { viewport: { ...phone, width: 320 }, hasTouch: true, isMobile: true })
    await page.getByRole('button', { name: 'Commands' }).tap()
    const { dialog } = paletteOf(page)
    await dialog.getByRole('option', { name: 'Theme: dark' }).tap()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
  })
})
