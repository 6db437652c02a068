import type { ScriptStep } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { seen } from './page.test-kit.ts'

const words = Array.from({ length: 40 }, (_, index) => `word${index + 1} `)
const fullText = words.join('').trim()

/** Slow enough for a test to act during the answer. */
export const slow: ScriptStep[] = words.flatMap((text): ScriptStep[] => [{ text }, { pause: 60 }])

export const connectionErrors =
  /ERR_CONNECTION_REFUSED|ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|WebSocket connection to/

/** Expects each word exactly once. */
export async function expectWhole(page: Page) {
  await seen(page).getByText('word40').waitFor()
  expect(await seen(page).getByText('word1 ').first().textContent()).toBe(fullText)
}
