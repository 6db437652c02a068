import { expect, test } from 'vitest'
import { describePage } from './page.test-kit.ts'
import { fullText, openReplay } from './timeline-replay.test-kit.ts'

const playhead = '.timeline-band[data-kind="playhead"]'

describePage('a replay', (visit) => {
  test('can be scrubbed and stepped, with a playhead in the chart', async () => {
    const page = await openReplay(visit)
    const slider = page.getByRole('slider', { name: 'Replay position' })
    const replayed = page.getByRole('region', { name: 'Chat at this time' })
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
    await expect.poll(async () => ((await answered.textContent()) ?? '').length).toBeLessThan(fullText.length)
    const part = (await answered.textContent()) ?? ''
    expect(fullText.startsWith(part.trim())).toBe(true)
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
    await expect.poll(async () => (await answered.textContent())?.trim()).toBe(fullText)
  })

  test('plays and pauses with the space bar, and removes the playhead when closed', async () => {
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
