import { agent, tool } from 'millrace'
import { client } from 'millrace/client'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { seriousProblems } from './accessibility.test-kit.ts'
import { openDesk } from './desk.ts'
import { askedThread, openLatestRun } from './detail.test-kit.ts'
import { describePage, screenshot } from './page.test-kit.ts'

const look = tool({
  name: 'look',
  description: 'Looks up an order',
  input: z.object({ id: z.string() }),
  run: () => 'Found.',
})

const round = (text: string, inputTokens: number) => [{ text }, { usage: { inputTokens, outputTokens: 10 } }]

describePage('comparing runs', (visit) => {
  test('of this thread and of another', async () => {
    const model = scriptedModel(
      [
        [{ call: 'look', input: { id: 'ORD-1' } }],
        round('The blue parcel is here.', 100),
        [{ call: 'look', input: { id: 'ORD-2' } }],
        round('The red parcel is here.', 200),
        round('Nothing to see.', 50),
      ],
      { id: 'small' },
    )
    const { url } = await openDesk({ script: [], agents: () => ({ desk: agent({ model, tools: [look] }) }) })
    const address = await askedThread(url, 'Where is ORD-1?')
    const thread = client(url).thread(address.split('/').at(-1) ?? '')
    const seq = await thread.send('Where is ORD-2?')
    for await (const _ of thread.follow({ until: seq })) {
      // Until it is answered.
    }
    await askedThread(url, 'A question about nothing')
    const page = await visit(url)
    await page.goto(address)
    await page.getByText('The red parcel is here.').first().waitFor()
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Compare…' }).click()

    const view = page.getByRole('tabpanel', { name: 'Compare' })
    const text = view.getByRole('region', { name: 'Text', exact: true })
    // The latest run is compared with the one before it.
    await expect.poll(() => text.locator('del').allTextContents()).toEqual([' red'])
    expect(await text.locator('ins').allTextContents()).toEqual([' blue'])
    const numbers = view.getByRole('table', { name: 'Numbers of both' })
    const row = (name: string) =>
      numbers
        .getByRole('row', { name: new RegExp(`^${name}`) })
        .getByRole('cell')
        .allTextContents()
    const [before = '', after = ''] = await row('Input tokens')
    expect(Number(before) - Number(after)).toBe(100)
    expect(await row('Calls')).toEqual(['1', '1', 'same'])
    const calls = view.getByRole('region', { name: 'Calls' })
    await calls.getByText('different arguments').waitFor()
    expect(await calls.locator('ins').allTextContents()).toEqual(['1'])
    expect(await seriousProblems(page)).toEqual([])
    await screenshot(page, 'compare')
    for (const width of [320, 390]) {
      await page.setViewportSize({ width, height: 720 })
      const overflow = await view.evaluate((element) => element.scrollWidth - element.clientWidth)
      expect(overflow, `at ${width} pixels`).toBe(0)
    }
    await page.setViewportSize({ width: 1280, height: 720 })
    await view.getByRole('button', { name: 'Swap sides' }).click()
    await expect.poll(() => text.locator('ins').allTextContents()).toEqual([' red'])
    expect(await row('Input tokens')).toEqual([
      after,
      before,
      `+100 (+${Math.round(10_000 / Number(after))}%)`,
    ])
    await view.getByRole('button', { name: 'Swap sides' }).click()

    await view.getByLabel('Search other threads').fill('about nothing')
    const threads = view.getByLabel('Thread of the second run')
    await expect.poll(() => threads.locator('option').allTextContents()).toHaveLength(2)
    await threads.selectOption({ label: 'A question about nothing' })
    await text.locator('ins', { hasText: 'Nothing to see' }).waitFor()
    await calls.getByText('only in First').waitFor()
    expect(await row('Calls')).toEqual(['1', '0', '−1 (−100%)'])
    // The chosen thread stays when the next search does not find it.
    await view.getByLabel('Search other threads').fill('blue parcel')
    await expect.poll(() => threads.locator('option').allTextContents()).toHaveLength(2)
    expect(await row('Calls')).toEqual(['1', '0', '−1 (−100%)'])
  })

  test('needs a second run', async () => {
    const { url } = await openDesk({ script: ['Hello.'] })
    const page = await visit(url)
    await page.goto(await askedThread(url, 'Hello?'))
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Compare…' }).click()
    await page.getByText('This thread has no other run. Search another thread.').waitFor()
  })
})
