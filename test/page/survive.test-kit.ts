import type { ScriptStep } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { seen } from './page.test-kit.ts'

const words = Array.from({ length: 40 }, (_, index) => `word${index + 1} `)
const whole = words.join('').trim()

/** So slow that there is time to do something to it meanwhile. */
export const slow: ScriptStep[] = words.flatMap((text): ScriptStep[] => [{ text }, { pause: 60 }])

export const lost =
  /ERR_CONNECTION_REFUSED|ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|WebSocket connection to/

/** Each word once and none left out, wherever it was cut. */
export async function expectWhole(page: Page) {
  await seen(page).getByText('word40').waitFor()
  expect(await seen(page).getByText('word1 ').first().textContent()).toBe(whole)
}
