import type { ScriptStep } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, say, screenshot, type Visit } from './page.test-kit.ts'

const words = Array.from({ length: 30 }, (_, index) => `word${index + 1} `)
const playhead = '.timeline-band[data-kind="playhead"]'
const whole = words.join('').trim()
const script: ScriptStep[][] = [
  [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
  words.flatMap((text): ScriptStep[] => [{ text }, { pause: 20 }]),
]

describePage('a replay', (visit) => {
  test('plays a run again, and ends with what the chat says', async () => {
    const page = await openReplay(visit)
    const replayed = page.getByRole('region', { name: 'The chat as it was' })
    await replayed.getByText('Where is it?').waitFor()
    await page.getByRole('combobox', { name: 'Speed' }).selectOption('8×')
    await replayed.getByText('word30').waitFor()
    await page
      .getByRole('region', { name: 'Replay' })
      .getByRole('button', { name: 'Play', exact: true })
      .waitFor()
    expect(await texts(page, '.timeline-replayed')).toEqual(await texts(page, '.chat-conversation'))
    expect(await replayed.getByText('word1 ').textContent()).toBe(whole)
    await replayed.getByText('lookup_order').first().waitFor()
    await screenshot(page, 'replay')
  })

  test('is scrubbed back and forth, step by step too, with a line where it is', async () => {
    const page = await openReplay(visit)
    const slider = page.getByRole('slider', { name: 'Place in the replay' })
    const replayed = page.getByRole('region', { name: 'The chat as it was' })
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    const answered = replayed.getByText('word1 ')
    const to = (share: number) =>
      slider.evaluate((element: HTMLInputElement, share) => {
        element.value = String(Number(element.max) * share)
        element.dispatchEvent(new Event('input', { bubbles: true }))
      }, share)
    const line = async () => (await page.locator(playhead).boundingBox())?.x ?? Infinity

    await to(1)
    await replayed.getByText('word30').waitFor()
    const atEnd = await line()
    await to(0.8)
    await expect.poll(async () => ((await answered.textContent()) ?? '').length).toBeLessThan(whole.length)
    const part = (await answered.textContent()) ?? ''
    expect(whole.startsWith(part.trim())).toBe(true)
    expect(await line()).toBeLessThan(atEnd)
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/^[\d.]+ m?s of [\d.]+ m?s$/)

    await page.getByRole('button', { name: 'Next event' }).click()
    await expect.poll(() => answered.textContent()).not.toBe(part)
    const further = (await answered.textContent()) ?? ''
    expect(further.startsWith(part.trim())).toBe(true)
    await page.getByRole('button', { name: 'Previous event' }).click()
    await expect.poll(async () => ((await answered.textContent()) ?? '').length).toBeLessThan(further.length)

    await to(0)
    await answered.waitFor({ state: 'detached' })
    await replayed.getByText('Where is it?').waitFor()
    await to(1)
    await expect.poll(async () => (await answered.textContent())?.trim()).toBe(whole)
  })

  test('begins and rests with the space bar, and leaves no line when it is ended', async () => {
    const page = await openReplay(visit)
    const slider = page.getByRole('slider')
    const replay = page.getByRole('region', { name: 'Replay' })
    await replay.getByRole('button', { name: 'Pause', exact: true }).waitFor()
    await slider.focus()
    await page.keyboard.press(' ')
    await replay.getByRole('button', { name: 'Play', exact: true }).waitFor()
    const before = Number(await slider.inputValue())
    await page.keyboard.press(' ')
    await expect.poll(async () => Number(await slider.inputValue())).toBeGreaterThan(before)
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await replay.waitFor({ state: 'detached' })
    expect(await page.locator(playhead).count()).toBe(0)
  })
})

/** A run that has happened, being replayed. */
async function openReplay(visit: Visit): Promise<Page> {
  const { url } = await openDesk({ script })
  const page = await visit(url)
  await say(page, 'Where is it?')
  await chatOf(page).conversation.getByText('word30').waitFor()
  await page.getByRole('button', { name: 'Inspect' }).click()
  await page.getByRole('tab', { name: 'Timeline' }).click()
  await page.locator('.timeline > p').getByText('completed').waitFor()
  await page.getByRole('button', { name: 'Replay' }).click()
  return page
}

/** What the model said, as it is shown. */
function texts(page: Page, where: string): Promise<string[]> {
  return page.locator(`${where} .chat-row[data-kind="text"]`).allInnerTexts()
}
