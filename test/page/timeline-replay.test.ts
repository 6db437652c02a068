import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePage, screenshot } from './page.test-kit.ts'
import { fullText, openReplay } from './timeline-replay.test-kit.ts'

describePage('a replay', (visit) => {
  test('replays a run, and ends with the same chat', async () => {
    const page = await openReplay(visit)
    const replayed = page.getByRole('region', { name: 'Chat at this time' })
    await replayed.getByText('Where is it?').waitFor()
    await page.getByRole('combobox', { name: 'Speed' }).selectOption('8×')
    await replayed.getByText('word30').waitFor()
    await page
      .getByRole('region', { name: 'Replay' })
      .getByRole('button', { name: 'Play', exact: true })
      .waitFor()
    expect(await texts(page, '.timeline-replayed')).toEqual(await texts(page, '.chat-conversation'))
    expect(await replayed.getByText('word1 ').textContent()).toBe(fullText)
    await replayed
      .getByText(/^Lookup order/)
      .first()
      .waitFor()
    await screenshot(page, 'replay')
  })
})

/** The rendered text of the model. */
function texts(page: Page, where: string): Promise<string[]> {
  return page.locator(`${where} .chat-row[data-kind="text"]`).allInnerTexts()
}
