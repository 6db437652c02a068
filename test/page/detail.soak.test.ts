import { agent, tool } from 'millrace'
import { client } from 'millrace/client'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openDesk } from './desk.ts'
import { askedThread, openCall, openLatestRun, openRound } from './detail.test-kit.ts'
import { describePage } from './page.test-kit.ts'

describePage('the detail of a round', (visit) => {
  test('shows each attempt of a retried request', async () => {
    const { url } = await openDesk({
      script: [[{ call: 'list_orders', input: {} }], 'Three orders.'],
      provider: { faults: [{ kind: 'status', status: 503, retryAfter: { seconds: 0 }, request: 0 }] },
    })
    const page = await visit(url)
    await page.goto(await askedThread(url, 'What have I ordered?'))
    const detail = await openRound(page, 'list_orders')
    await detail.getByRole('article', { name: 'Attempt 2' }).getByText('200').waitFor()
    const first = detail.getByRole('article', { name: 'Attempt 1' })
    expect(await first.textContent()).toMatch(/503/)
    expect(await first.textContent()).toMatch(/overloaded/)
    expect(await detail.getByRole('region', { name: 'Retries' }).textContent()).toMatch(
      /Attempt 2.*overloaded/,
    )
  })

  test('updates the status of its calls after generation has ended', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const wait = tool({ name: 'wait', description: 'Waits', input: z.object({}), run: () => promise })
    const { url } = await openDesk({
      script: [[{ call: 'wait', input: {} }], 'Waited.'],
      agents: (model) => ({ support: agent({ model, tools: [wait] }) }),
    })
    const page = await visit(url)
    const thread = await client(url).create()
    await thread.send('Well?')
    await page.goto(`${url}/#/threads/${thread.id}`)
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 1' }).click()
    await detail.getByRole('button', { name: 'Running' }).waitFor()
    resolve('long enough')
    await detail.getByRole('button', { name: /^Done/ }).waitFor()
  })

  test('says how to enable recording if requests are not recorded', async () => {
    const { url } = await openDesk({
      script: [[{ call: 'list_orders', input: {} }], 'Three.'],
      app: { exchanges: false },
    })
    const page = await visit(url, { tolerates: [/404/] })
    await page.goto(await askedThread(url, 'What have I ordered?'))
    const detail = await openRound(page, 'list_orders')
    await detail.getByRole('region', { name: 'Requests' }).getByText('exchanges').waitFor()
    await detail.getByRole('region', { name: 'Tools called' }).getByText('list_orders').waitFor()
  })

  test('loads requests again when the response ends, or on demand', async () => {
    const { url } = await openDesk({ script: [[{ text: 'Slowly' }, { hang: true }]] })
    const page = await visit(url)
    const thread = await client(url).create()
    await thread.send('Well?')
    await page.goto(`${url}/#/threads/${thread.id}`)
    await page.getByText('Slowly').first().waitFor()
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 1' }).click()
    await detail.getByRole('button', { name: 'Refresh' }).click()
    await detail.getByRole('article').getByText('still running').waitFor()
    await thread.stop()
    await detail.getByText(/took \d/).waitFor()
    await expect.poll(() => detail.getByRole('button', { name: 'Refresh' }).count()).toBe(0)
  })
})

describePage('the detail of a call', (visit) => {
  test('renders a large result in part, and all of it is reachable by keyboard', async () => {
    const list = tool({
      name: 'list',
      description: 'Lists',
      input: z.object({}),
      run: () => ({
        rows: Array.from({ length: 50_000 }, (_, index) => ({ row: index })),
        text: 'line\n'.repeat(50_000),
      }),
    })
    const { url } = await openDesk({
      script: [[{ call: 'list', input: {} }], 'Listed.'],
      agents: (model) => ({ support: agent({ model, tools: [list], maxOutputChars: 2_000_000 }) }),
    })
    const page = await visit(url)
    await page.goto(await askedThread(url, 'List them'))
    const detail = await openCall(page, 'list')
    const line = (text: RegExp) => detail.locator('summary', { hasText: text })
    const open = (text: RegExp) => line(text).press('Enter')
    await line(/^rows: .*49,996 more/).waitFor()
    await open(/^40000 … 49999$/)
    await open(/^40000 … 40099$/)
    await open(/^40000: /)
    await detail.getByText('row: 40000', { exact: true }).waitFor()
    await open(/^40000 … 40099$/)
    await detail.getByText('row: 40000', { exact: true }).waitFor({ state: 'detached' })
    await open(/^text: .*250,000 characters/)
    await detail.getByRole('group', { name: 'text' }).getByText('line').first().waitFor()
    expect(await detail.locator('*').count()).toBeLessThan(2500)
  })
})
