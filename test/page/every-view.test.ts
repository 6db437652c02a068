import { memoryExchanges } from 'millrace'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { isWhole } from '../size.ts'
import { seriousProblems } from './accessibility.test-kit.ts'
import { openDesk } from './desk.ts'
import { everything } from './everything.ts'
import { describePage, desktop, phone, say, screenshot } from './page.test-kit.ts'

const small = { ...phone, width: 320 }

const looks = [
  { colorScheme: 'light', viewport: small },
  { colorScheme: 'dark', viewport: desktop },
  // The rest is nightly: contrasts in both themes are also computed in styles/tokens.test.ts.
  ...(isWhole
    ? ([
        { colorScheme: 'dark', viewport: small },
        { colorScheme: 'light', viewport: desktop },
      ] as const)
    : []),
] as const

/** Opens every view, one after the other. Yields its name once it is shown. */
async function* views(page: Page): AsyncGenerator<string> {
  const isPhone = (page.viewportSize()?.width ?? 0) < 760
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const tab = (name: string) => page.getByRole('tab', { name, exact: true }).click()
  const panel = (name: string) => page.getByRole('tabpanel', { name, exact: true })
  const closePanel = () => press('Close inspector')
  const run = async (command: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command' }).fill(command)
    await page.keyboard.press('Enter')
  }

  await page.getByRole('button', { name: 'Where is ORD-42?' }).waitFor()
  yield 'welcome'
  await say(page, 'Where are ORD-42 and ORD-99? Refund the first.')
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor()
  yield 'approval'
  await press('Allow')
  await page.getByText('It is done.').first().waitFor()
  yield 'answer'
  await page.keyboard.press('Escape')
  await press(/^Inspect/)
  await panel('Timeline').getByText('Round 1').first().waitFor()
  yield 'timeline'
  await tab('Events')
  await panel('Events').getByText('run-end').first().waitFor()
  yield 'events'
  await tab('Detail')
  const runs = panel('Detail').getByRole('table', { name: 'Runs of this thread' })
  await runs.waitFor()
  yield 'detail of the thread'
  await runs.getByRole('button').first().click()
  await panel('Detail').getByRole('button', { name: 'Compare…' }).waitFor()
  yield 'detail of a run'
  await press(/^Round 1/)
  await panel('Detail').getByText('Request headers').first().waitFor()
  yield 'detail of a round'
  await press('Open in playground')
  await panel('Playground').getByRole('textbox', { name: 'System prompt' }).waitFor()
  yield 'playground'
  await panel('Playground').getByRole('button', { name: /^Run/ }).click()
  await panel('Playground').getByRole('region', { name: 'Text', exact: true }).waitFor()
  yield 'playground with an attempt'
  await closePanel()
  await run('Compare')
  await panel('Compare').waitFor()
  yield 'comparison'
  await closePanel()
  await run('Agent set-up')
  await panel('Agent').getByText('lookup_order').first().waitFor()
  yield 'agent'
  await closePanel()
  await run('Active runs')
  await page.getByRole('heading', { name: 'Active runs' }).waitFor()
  yield 'active runs'
  if (isPhone) await press('Threads')
  await page.getByRole('searchbox', { name: 'Search threads' }).fill('done')
  await page.locator('.threads-match').first().waitFor()
  yield 'thread list'
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('dialog', { name: 'Filter threads' }).waitFor()
  yield 'filters'
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await page.getByRole('option').first().waitFor()
  yield 'palette'
  await page.keyboard.press('Escape')
  await run('Keyboard shortcuts')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  yield 'shortcuts'
  await page.keyboard.press('Escape')
  await page.goto(`${new URL(page.url()).origin}/#/threads/none`)
  await page.getByText("This thread doesn't exist or was deleted.").first().waitFor()
  yield 'missing thread'
}

describePage('every view', (visit) => {
  test.each(looks)(
    'has no serious problem and fits, $colorScheme at $viewport.width pixels',
    async (look) => {
      const { url } = await openDesk({
        script: [...everything, 'It could be done.'],
        app: { exchanges: memoryExchanges() },
      })
      const isPhone = look.viewport === small
      const page = await visit(url, { ...look, hasTouch: isPhone, tolerates: [/status of 404/] })
      const problems: Record<string, unknown> = {}
      for await (const name of views(page)) {
        const found = await seriousProblems(page)
        const { clientWidth, scrollWidth } = await page.evaluate(() => document.documentElement)
        if (found.length > 0) problems[name] = found
        if (scrollWidth > clientWidth) problems[name] = `is ${scrollWidth} pixels wide`
        await screenshot(
          page,
          `every-${look.colorScheme}-${look.viewport.width}-${name.replaceAll(' ', '-')}`,
        )
      }
      expect(problems).toEqual({})
    },
  )
})
