import type { ScriptStep } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { say, type Visit } from './page.test-kit.ts'

const words = Array.from({ length: 30 }, (_, index) => `word${index + 1} `)
export const fullText = words.join('').trim()
const script: ScriptStep[][] = [
  [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
  words.flatMap((text): ScriptStep[] => [{ text }, { pause: 20 }]),
]

/** Opens the replay of a completed run. */
export async function openReplay(visit: Visit): Promise<Page> {
  const { url } = await openDesk({ script })
  const page = await visit(url)
  await say(page, 'Where is it?')
  await chatOf(page).conversation.getByText('word30').waitFor()
  await page.getByRole('button', { name: 'Inspect' }).click()
  await page.getByRole('tab', { name: 'Timeline' }).click()
  await page.locator('.timeline > p').getByText('Done').waitFor()
  await page.getByRole('button', { name: 'Replay' }).click()
  return page
}
