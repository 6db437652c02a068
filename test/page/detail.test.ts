import { agent, tool } from 'millrace'
import { client } from 'millrace/client'
import { openaiChat } from 'millrace/openai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openDesk } from './desk.ts'
import {
  askedThread,
  clipboard,
  fact,
  fixedProvider,
  openCall,
  openLatestRun,
  openRound,
} from './detail.test-kit.ts'
import { copied, describePage, screenshot } from './page.test-kit.ts'

const usage = { inputTokens: 1200, outputTokens: 80, reasoningTokens: 12, cacheReadTokens: 900 }

describePage('the detail of a round', (visit) => {
  test('shows the exact bytes of request and response, and never the API key', async () => {
    const key = 'sk-the-key-of-this-test-0123456789'
    const answer = [
      `: who asked with ${key}\n\n`,
      'data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Größe \\u00fc 🦀"},"finish_reason":null}]}\n\n',
      'data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\n',
      'data: [DONE]\n\n',
    ].join('')
    const provider = await fixedProvider(answer)
    const model = openaiChat('fixed-1', { baseURL: provider.baseURL, apiKey: key })
    const system = 'You say "Grüße" \u2028 and 🦀.'
    const { url } = await openDesk({ script: [], agents: () => ({ support: agent({ model, system }) }) })
    const address = await askedThread(url, 'Hello?')
    const page = await visit(url, clipboard)
    const seen: Promise<string>[] = []
    page.on('response', (response) => seen.push(response.text().catch(() => '')))
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => seen.push(Promise.resolve(String(payload)))),
    )
    await page.goto(address)
    await page.getByText('Größe').first().waitFor()
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Round 1' }).click()
    const sent = await copied(detail.getByRole('button', { name: /^Copy: Request body/ }))
    expect(Buffer.from(sent)).toEqual(provider.bodies[0])
    const came = await copied(detail.getByRole('button', { name: /^Copy: Response body/ }))
    expect(came).toBe(answer.replace(key, '[key]'))
    const curl = await copied(detail.getByRole('button', { name: 'Copy as curl' }))
    expect(curl).toContain(`'authorization: Bearer '"$API_KEY"''`)

    const frames = detail
      .getByRole('group', { name: 'Response frames' })
      .locator('summary', { hasText: /DONE|Größe/ })
    expect(await frames.count()).toBe(2)
    await frames.first().click()
    await detail.getByText('content: "Größe ü 🦀"', { exact: true }).waitFor()
    for (const name of ['Request headers', 'Response headers']) await detail.getByText(name).click()
    await detail.getByText('x-request-id: "req_7"', { exact: true }).waitFor()
    for (const name of [/^Request body/, /^Response body/])
      await detail.getByRole('group', { name }).getByRole('button', { name: 'Raw' }).click()
    expect(await page.content()).not.toContain(key)
    for (const text of await Promise.all(seen)) expect(text).not.toContain(key)
    expect(seen.length).toBeGreaterThan(3)
  })

  test('shows offered and called tools, schema errors and usage', async () => {
    const { url } = await openDesk({
      script: [
        [
          { text: 'Let me look.' },
          { call: 'lookup_order', input: { id: 'ORD-42' } },
          { call: 'lookup_order', input: { number: 42 } },
          { call: 'read_minds', input: {} },
          { usage },
        ],
        [{ text: 'There it is.' }, { usage: { inputTokens: 1300, outputTokens: 20, cacheReadTokens: 1000 } }],
      ],
    })
    const page = await visit(url)
    await page.goto(await askedThread(url, 'Where is ORD-42?'))
    const detail = await openRound(page, 'lookup_order')

    const offered = detail.getByRole('region', { name: 'Tools offered and called' })
    await offered.getByText('not called').first().waitFor()
    const tools = (await offered.getByRole('listitem').allInnerTexts()).map((use) => use.replace(/\s+/g, ' '))
    expect(tools.filter((line) => /not called/.test(line)).map((line) => line.split(' ')[0])).toEqual(
      expect.arrayContaining(['list_orders', 'refund_order', 'track_parcel']),
    )
    expect(tools.find((line) => line.startsWith('lookup_order'))).toMatch(/2 calls.* 1 failed Done.*Not run/)
    expect(tools.find((line) => line.startsWith('read_minds'))).toMatch(/Called, but not offered/)

    const errors = await detail
      .getByRole('region', { name: 'Schema errors' })
      .getByRole('listitem')
      .allInnerTexts()
    expect(errors).toHaveLength(2)
    expect(errors[0]).toMatch(/lookup_order.*schema/)
    expect(errors[1]).toMatch(/read_minds.*no tool/)

    expect(await fact(detail, 'Input tokens')).toBe('1,200')
    expect(await fact(detail, 'Reasoning tokens')).toBe('12')
    expect(await fact(detail, 'Read from cache')).toBe('900 (75%)')
    expect(await fact(detail, 'Speed')).toMatch(/tokens\/s$/)
    expect(await fact(detail, 'First token')).toMatch(/^\d/)
    await screenshot(page, 'detail-round')

    await detail.getByRole('button', { name: 'Run of support' }).click()
    await detail.getByRole('heading', { name: 'Run of support' }).waitFor()
    expect(await fact(detail, 'Input tokens')).toBe('2,500')
    expect(await fact(detail, 'Read from cache')).toBe('1,900 (76%)')
    expect(await fact(detail, 'Outcome')).toBe('Done')
    const uses = detail.getByRole('region', { name: 'Tools called' })
    await uses.getByText(/^lookup_order 2 calls, .* total, 1 failed$/).waitFor()
    await uses.getByText(/^read_minds 1 call, .* total, 1 failed$/).waitFor()
  })

  test('hides requests from users without inspect access', async () => {
    const { url } = await openDesk({
      script: [[{ call: 'list_orders', input: {} }], 'Three.'],
      app: { auth: () => ({ user: 'ada' }), exchanges: true },
    })
    const page = await visit(url, { tolerates: [/403/] })
    await page.goto(await askedThread(url, 'What have I ordered?'))
    const detail = await openRound(page, 'list_orders')
    await detail.getByText('You need inspect access').waitFor()
    expect(await detail.getByRole('article').count()).toBe(0)
  })
})

describePage('the detail of a call', (visit) => {
  test('shows raw and edited arguments, and the full and the shortened result', async () => {
    const refund = tool({
      name: 'refund',
      description: 'Pays back',
      input: z.object({ id: z.string(), cents: z.number() }),
      approve: true,
      maxResultChars: 200,
      run: (input) => ({ ...input, receipt: 'R'.repeat(2000) }),
    })
    const { url } = await openDesk({
      script: [[{ call: 'refund', input: { id: 'ORD-42', cents: 9900 } }], 'Done.'],
      agents: (model) => ({ support: agent({ model, tools: [refund] }) }),
    })
    const thread = await client(url).create()
    await thread.send('Pay me back')
    for await (const { event } of thread.follow()) {
      if (event.type !== 'approval-request') continue
      await thread.approve(event.callId, {
        approved: true,
        reason: 'half of it',
        input: { id: 'ORD-42', cents: 4950 },
      })
      break
    }
    const page = await visit(url, clipboard)
    await page.goto(`${url}/#/threads/${thread.id}`)
    await page.getByText('Done.', { exact: true }).first().waitFor()
    const detail = await openCall(page, 'refund')
    expect(await copied(detail.getByRole('button', { name: 'Copy: Raw arguments' }))).toBe(
      '{"id":"ORD-42","cents":9900}',
    )
    const changed = await copied(detail.getByRole('button', { name: 'Copy: Edited arguments' }))
    expect(JSON.parse(changed)).toEqual({ id: 'ORD-42', cents: 4950 })
    expect(await detail.getByRole('region', { name: 'Decisions' }).textContent()).toMatch(
      /Allowed with changes after .*half of it/,
    )
    const whole = await copied(detail.getByRole('button', { name: 'Copy: Full result (JSON)' }))
    expect(JSON.parse(whole).receipt).toHaveLength(2000)
    const shown = await copied(detail.getByRole('button', { name: /^Copy: Shown to the model/ }))
    expect(shown.length).toBeLessThan(1000)
    expect(await fact(detail, 'State')).toBe('Done')
    expect(await fact(detail, 'Ran')).toMatch(/for \d/)
  })

  test('links to the run of its sub-agent, with its requests', async () => {
    const { url, provider } = await openDesk({
      script: [[{ call: 'clerk', input: { prompt: 'Look it up' } }], 'The clerk knows.', 'So it is.'],
      agents: (model) => {
        const clerk = agent({ name: 'clerk', model, system: 'You are the clerk.' })
        return {
          support: agent({ model, tools: [clerk.asTool({ description: 'Asks the clerk' })] }),
        }
      },
    })
    const page = await visit(url, clipboard)
    await page.goto(await askedThread(url, 'Well?'))
    const detail = await openCall(page, 'clerk')
    await detail
      .getByRole('region', { name: 'Sub-agent' })
      .getByRole('button', { name: 'Run of clerk' })
      .click()
    await detail.getByRole('heading', { name: 'Run of clerk' }).waitFor()
    await detail.getByRole('button', { name: 'Round 1' }).click()
    const sent = await copied(detail.getByRole('button', { name: /^Copy: Request body/ }))
    expect(JSON.parse(sent)).toEqual(provider.requests[1]?.body)
    // What it read is not in the log of the thread, so it cannot be run again.
    expect(await detail.getByRole('button', { name: 'Open in playground' }).count()).toBe(0)
    await page.keyboard.press('Control+k')
    const commands = page.getByRole('dialog', { name: 'Commands' })
    await commands.getByRole('combobox').fill('Inspector')
    await commands.getByRole('option', { name: 'Inspector: Compare the selected run…' }).waitFor()
    expect(await commands.getByRole('option', { name: /playground/ }).count()).toBe(0)
    await page.keyboard.press('Escape')
    // In the log of the thread, it is progress of the call.
    await detail.getByRole('button', { name: /^Event/ }).click()
    await page
      .locator('details[open] > summary', { hasText: /tool-progress.*round-start: round 1/ })
      .waitFor()
  })
})
