import type { Model } from 'millrace'
import type { ScriptRound, ScriptStep } from 'millrace/testing'
import { test } from 'vitest'
import { supportDesk } from '../../examples/support-desk/agent.ts'
import { openDesk } from './desk.ts'
import { describePage, phone, say, screenshot, seen } from './page.test-kit.ts'

/** About as fast as a real model. */
function paced(text: string): ScriptStep[] {
  return text.split(/(?<= )/).flatMap((word): ScriptStep[] => [{ text: word }, { pause: 15 }])
}

/** For the README: tools that run during generation, and one that needs approval. */
const script: ScriptRound[] = [
  [
    { reasoning: 'Two orders. The carrier is slow, so it is asked first.' },
    ...paced('Let me look up **ORD-42** and **ORD-44**. '),
    { call: 'track_parcel', input: { id: 'ORD-42' } },
    { call: 'lookup_order', input: { id: 'ORD-42' } },
    { call: 'lookup_order', input: { id: 'ORD-44' } },
    { call: 'lookup_order', input: { id: 'ORD-99' } },
    ...paced('Carriers take a second or two to answer, so please bear with me for a moment.'),
    { usage: { inputTokens: 412, outputTokens: 96, cacheReadTokens: 256 } },
  ],
  [
    ...paced(
      'Here is what I found:\n\n| Order | State |\n| --- | --- |\n| ORD-42 | with the carrier |\n| ORD-44 | in the warehouse |\n\n',
    ),
    ...paced('There is no order with the number ORD-99. The refund needs your approval:'),
    { call: 'refund_order', input: { id: 'ORD-44' } },
    { usage: { inputTokens: 640, outputTokens: 58, cacheReadTokens: 512 } },
  ],
  [
    ...paced('Done: the money for ORD-44 is on its way back to you.'),
    { usage: { inputTokens: 702, outputTokens: 17, cacheReadTokens: 640 } },
  ],
  // The same round in the playground, with another prompt.
  [
    ...paced('Done: €89.50 for ORD-44 is on its way back to you.'),
    { usage: { inputTokens: 711, outputTokens: 16, cacheReadTokens: 0 } },
  ],
]

/** The agents of the support desk, with a model whose price is known. */
const priced = (model: Model) => supportDesk({ ...model, price: { input: 2.5, output: 15, cacheRead: 0.25 } })

describePage('screenshots', (visit) => {
  test('of the chat, the timeline and the playground', async () => {
    const { url } = await openDesk({ script, agents: priced })
    const page = await visit(url, { colorScheme: 'light', deviceScaleFactor: 1 })
    await say(page, 'Where are ORD-42, ORD-44 and ORD-99? Refund the one that has not left yet.')
    const allow = page.getByRole('button', { name: /^allow/i })
    await allow.waitFor()
    await screenshot(page, 'chat', { inReadme: true })
    await allow.click()
    await seen(page).getByText('Done: the money').waitFor()
    await page.getByRole('button', { name: 'Inspect' }).click()
    await page.getByRole('tab', { name: 'Timeline' }).waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    await screenshot(page, 'timeline', { inReadme: true })
    await page.getByRole('tab', { name: 'Detail' }).click()
    await screenshot(page, 'detail')
    await page.getByRole('tab', { name: 'Events' }).click()
    await screenshot(page, 'events')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.getByRole('tab', { name: 'Detail' }).click()
    await page.getByRole('table', { name: 'Runs of this thread' }).getByRole('button').first().click()
    await page.getByRole('button', { name: 'Round 3' }).click()
    await page.getByRole('button', { name: 'Open in playground' }).click()
    await page.getByRole('button', { name: 'Expand to full width' }).click()
    const playground = page.getByRole('tabpanel', { name: 'Playground' })
    const prompt = playground.getByRole('textbox', { name: 'System prompt' })
    await prompt.fill(`${await prompt.inputValue()} Be brief, and name the amount.`)
    await playground.getByRole('button', { name: /^Run/ }).click()
    await playground.getByRole('region', { name: 'Text', exact: true }).waitFor()
    await playground.evaluate((panel) => panel.scrollTo(0, panel.scrollHeight))
    await screenshot(page, 'playground', { inReadme: true })
  })

  test('of a phone', async () => {
    const { url } = await openDesk({ script })
    const page = await visit(url, { viewport: phone, hasTouch: true, isMobile: true })
    await say(page, 'Where are ORD-42, ORD-44 and ORD-99?')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    await screenshot(page, 'chat-phone')
    await page.getByRole('button', { name: 'Inspect' }).click()
    await page.getByRole('tab', { name: 'Timeline' }).waitFor()
    await screenshot(page, 'timeline-phone')
  })
})
