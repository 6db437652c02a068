import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Hono } from 'hono'
import type { ServedApp } from 'millrace/server'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage, phone, say, screenshot, seen } from './page.test-kit.ts'

describePage('the served page', (visit) => {
  test('loads under its content security policy, without requests to other origins', async () => {
    const { url } = await openDesk({ script: ['It is on its way.'] })
    const page = await visit(url)
    await say(page, 'Where is my parcel?')
    await answered(page)
    expect(await page.title()).toContain('Millrace')
    await screenshot(page, 'first-answer')
  })

  test('works without browser storage', async () => {
    const { url } = await openDesk({ script: ['Hello.'] })
    const page = await visit(url)
    await page.addInitScript(() => {
      const get = () => {
        throw new DOMException('Access is denied', 'SecurityError')
      }
      for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get })
    })
    await page.reload()
    await say(page, 'Hi')
    await seen(page).getByText('Hello.').waitFor()
  })

  test('loads on a phone', async () => {
    const { url } = await openDesk({ script: ['It is on its way.'] })
    const page = await visit(url, { viewport: phone, hasTouch: true, isMobile: true })
    await say(page, 'Where is my parcel?')
    await answered(page)
    await screenshot(page, 'first-answer-phone')
  })

  test('works mounted under a path without WebSocket support', async () => {
    const { app } = await openDesk({ script: ['It is on its way.'] })
    const page = await visit(`${await mountedAt('/tools/desk', app)}/tools/desk/`, {
      tolerates: [/WebSocket connection to/],
    })
    await say(page, 'Where is my parcel?')
    await answered(page)
  })
})

async function answered(page: Page) {
  await seen(page).getByText('It is on its way.').waitFor()
}

/** Mounts the app in Hono, on a plain Node server. */
async function mountedAt(path: string, app: ServedApp): Promise<string> {
  const outer = new Hono().mount(path, (request) => app.fetch(request))
  const server = createServer(async (incoming, response) => {
    const { method = 'GET', headers, url } = incoming
    const body = method === 'GET' ? undefined : await text(incoming)
    const request = new Request(`http://${headers.host}${url}`, {
      method,
      headers: headers as Record<string, string>,
      ...(body && { body }),
    })
    const answer = await outer.fetch(request)
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    for await (const chunk of answer.body ?? []) response.write(chunk)
    response.end()
  })
  onTestFinished(() => void server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
