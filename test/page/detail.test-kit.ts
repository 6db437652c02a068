import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { client, type Entry } from 'millrace/client'
import type { Locator, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

/** Only turns a hang into a failure. */
export const longTimeout = { timeout: 60_000 }

export const clipboard = { permissions: ['clipboard-read', 'clipboard-write'] }

/** Sends a message in a new thread and waits for the run. Returns the URL of the thread. */
export async function askedThread(url: string, text: string): Promise<string> {
  const thread = await client(url).create()
  const seq = await thread.send(text)
  for await (const _ of thread.follow({ until: seq })) {
    // Until it is answered or suspended.
  }
  return `${url}/#/threads/${thread.id}`
}

/** Opens the detail of the first call of a tool in the latest run. */
export async function openCall(page: Page, name: string): Promise<Locator> {
  const detail = await openLatestRun(page)
  const uses = detail.getByRole('region', { name: 'Tools called' }).getByRole('listitem')
  await uses.filter({ hasText: name }).first().getByRole('button').first().click()
  return detail
}

/** Opens the detail of the round of a call. */
export async function openRound(page: Page, call: string): Promise<Locator> {
  const detail = await openCall(page, call)
  await detail
    .getByRole('navigation')
    .getByRole('button', { name: /^Round/ })
    .click()
  return detail
}

/** Opens the detail of the latest run. */
export async function openLatestRun(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'Inspect' }).click()
  await page.getByRole('tab', { name: 'Detail' }).click()
  const detail = detailOf(page)
  await detail.getByRole('table', { name: 'Runs of this thread' }).getByRole('button').first().click()
  return detail
}

function detailOf(page: Page): Locator {
  return page.getByRole('tabpanel', { name: 'Detail' })
}

/** The value of a fact. */
export function fact(detail: Locator, label: string): Promise<string | null> {
  return detail
    .locator('dl.detail-facts > div', { has: detail.page().getByText(label, { exact: true }) })
    .locator('dd')
    .first()
    .textContent()
}

export interface FixedProvider {
  readonly baseURL: string
  readonly bodies: Buffer[]
}

/** A provider with a fixed response, which records the exact request bodies. */
export async function fixedProvider(answer: string): Promise<FixedProvider> {
  const bodies: Buffer[] = []
  const server = createServer(async (request, response) => {
    bodies.push(await buffer(request))
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_7' })
    response.end(answer)
  })
  onTestFinished(() => void server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, bodies }
}

/** Actions and locators of the Events tab. */
export function eventsOf(page: Page) {
  const panel = page.getByRole('tabpanel', { name: 'Events' })
  const rows = panel.getByRole('listitem')
  return {
    panel,
    rows,
    types: () => rows.locator('.events-type').allInnerTexts(),
    kind: (name: string) => panel.getByRole('button', { name, exact: true }),
    async open() {
      await page.getByRole('button', { name: 'Inspect' }).click()
      await page.getByRole('tab', { name: 'Events' }).click()
    },
  }
}

/** Parses JSON lines. */
export const parsed = (lines: string): Entry[] =>
  lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
