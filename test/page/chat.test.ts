import { agent, tool } from 'millrace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { bossWithClerk, chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, phone, screenshot } from './page.test-kit.ts'

const anything = z.looseObject({})

describePage('the chat', (visit) => {
  test('text is shown while it is generated, and announced once it is complete', async () => {
    const desk = await openDesk({ script: [[{ text: 'It is ' }, { text: 'on its way' }, { hang: true }]] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Where is it?')
    await chat.rows('text').getByText('It is on its way').waitFor()
    await chat.button('Stop').waitFor()
    expect(await chat.rows('end').count()).toBe(0)
    expect(await chat.announced()).not.toContain('on its way')
    await chat.button('Stop').click()
    await chat.ends(1)
    expect(await chat.rows('end').textContent()).toMatch(/^You stopped this · active/)
    await expect.poll(chat.announced).toMatch(/It is on its way[\s\S]*You stopped this\./)
  })

  test('the first message creates a thread with the selected agent', async () => {
    const desk = await openDesk({ script: ['Hello.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await page.getByLabel('Agent').selectOption('returns')
    await chat.say('Hi')
    await chat.ends(1)
    await chat.rows('input').getByText('Hi').waitFor()
    expect((await desk.app.thread(chat.threadId()).state()).agent).toBe('returns')
  })

  test('reasoning is collapsed, and can be expanded', async () => {
    const desk = await openDesk({
      script: [[{ reasoning: 'First the order.\nThen the parcel.' }, { text: 'Here.' }]],
    })
    const chat = chatOf(await visit(desk.url))
    await chat.say('Go')
    await chat.ends(1)
    const thought = chat.rows('reasoning')
    await thought.getByText(/^Thought( for .*)?$/).waitFor()
    expect(await thought.getByText('First the order.').count()).toBe(0)
    await thought.getByText(/^Thought( for .*)?$/).click()
    await thought.getByText('First the order.').waitFor()
  })

  test('arguments are shown while they are generated', async () => {
    const script = [[{ call: 'lookup_order', raw: '{"id":"ORD', cut: true }, { hang: true } as const]]
    const desk = await openDesk({ script })
    const chat = chatOf(await visit(desk.url))
    await chat.say('Go')
    const card = chat.card('lookup_order')
    await card.getByText('Writing arguments · {"id":"ORD').waitFor()
  })

  test('each call has a card with its status and result', async () => {
    const gate = Promise.withResolvers<void>()
    const tools = [
      tool({ name: 'quick', description: 'q', input: anything, run: () => ({ found: 7 }) }),
      tool({
        name: 'slow',
        description: 's',
        input: anything,
        async *run() {
          yield 'Hamburg'
          yield 'Berlin'
          await gate.promise
          return 'arrived'
        },
      }),
      tool({
        name: 'broken',
        description: 'b',
        input: anything,
        run: () => {
          throw new Error('the warehouse does not answer')
        },
      }),
      tool({ name: 'strict', description: 't', input: z.object({ shelf: z.number() }), run: () => 'never' }),
    ]
    const calls = [{ call: 'quick', input: { id: 1 } }, { call: 'slow' }, { call: 'broken' }]
    const desk = await openDesk({
      script: [[...calls, { call: 'strict', input: { shelf: 'three' } }], 'All done.'],
      agents: (model) => ({ helper: agent({ model, tools }) }),
    })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.card('slow').getByText('Berlin').waitFor()
    await chat.card('slow').getByText('Progress 2').waitFor()
    await chat
      .card('slow')
      .getByText(/Running/)
      .waitFor()
    await chat.card('quick').getByText('Quick 1', { exact: true }).waitFor()
    await chat.open('quick')
    await chat.card('quick').getByText('{"id":1}').waitFor()
    await chat.card('quick').getByText('{"found":7}').waitFor()
    await chat
      .card('broken')
      .getByText(/^Failed · the warehouse does not answer/)
      .waitFor()
    await chat
      .card('strict')
      .getByText(/^Not run · the arguments .*shelf: .*expected number/)
      .waitFor()
    await screenshot(page, 'chat-tools')
    gate.resolve()
    await chat.ends(1)
    await chat.open('slow')
    await chat.card('slow').getByText('arrived').waitFor()
    await expect.poll(chat.announced).toContain('Tool broken: Failed.')
  })

  test('a long result is collapsed, with its size', async () => {
    const long = Array.from({ length: 2000 }, (_, index) => `line ${index}`).join('\n')
    const tools = [tool({ name: 'read', description: 'r', input: anything, run: () => long })]
    const desk = await openDesk({
      script: [[{ call: 'read' }], 'Read.'],
      agents: (model) => ({ helper: agent({ model, tools }) }),
    })
    const chat = chatOf(await visit(desk.url))
    await chat.say('Go')
    await chat.ends(1)
    const card = await chat.open('read')
    expect(await card.textContent()).not.toContain('line 1999')
    await card.getByRole('button', { name: 'Show all (19 KB)' }).click()
    await card.getByText('line 1999').waitFor()
  })

  test('a sub-agent and its approvals are shown inside its call', async () => {
    const desk = await openDesk({
      script: [
        [{ call: 'clerk', input: { prompt: 'Pay the bill.' } }],
        [{ text: 'I pay it now. ' }, { call: 'pay', input: { amount: 5 } }],
        'I have paid.',
        'It is paid.',
      ],
      agents: bossWithClerk,
    })
    const chat = chatOf(await visit(desk.url))
    await chat.say('Settle this.')
    await chat.card('clerk').getByText('Pay 5?').waitFor()
    const inside = chat.card('clerk').locator('.chat-inner')
    await inside.getByText('Waiting for you').waitFor()
    expect(await inside.getByText('No decision').count()).toBe(0)
    await chat.button('Allow').click()
    await chat.ends(1)
    await chat.open('clerk')
    await inside.getByText('I have paid.').waitFor()
    expect(await inside.getByText('I pay it now.').count()).toBe(1)
    expect(await inside.getByRole('button', { name: /Retry|Fork|Details|Allow/ }).count()).toBe(0)
  })

  test('scrolling up stops following, and a button jumps to the latest row', async () => {
    const desk = await openDesk({ script: ['A line.\n\n'.repeat(80)] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.ends(1)
    expect(await chat.button('Jump to latest').count()).toBe(0)
    const list = page.getByRole('group', { name: 'Conversation' })
    await list.hover()
    await page.mouse.wheel(0, -4000)
    await chat.button('Jump to latest').waitFor()
    expect(await list.evaluate((box) => box.scrollTop)).toBe(0)
    await chat.button('Jump to latest').click()
    await expect.poll(() => chat.button('Jump to latest').count()).toBe(0)
    await chat.rows('end').waitFor()
  })

  test('a lost and a restored connection are reported', async () => {
    const desk = await openDesk({ script: ['Hello.', 'Hello again.'] })
    const page = await visit(desk.url, { tolerates: [/ERR_INTERNET_DISCONNECTED|WebSocket connection to/] })
    const chat = chatOf(page)
    await chat.say('Hi')
    await chat.ends(1)
    await page.context().setOffline(true)
    await page.getByText(/^Connection lost · last update \d.* · reconnecting…$/).waitFor()
    await page.context().setOffline(false)
    await page.getByText('Reconnected.').waitFor()
    expect(await page.getByText('Connection lost').count()).toBe(0)
    await chat.say('Still there?')
    await chat.rows('text').getByText('Hello again.').waitFor()
  })

  test('nothing is wider than the screen of a phone', async () => {
    const wide = 'x'.repeat(400)
    const desk = await openDesk({
      script: [[{ text: `${wide} and \`${wide}\`` }, { call: 'lookup_order', input: { id: wide } }], wide],
    })
    const page = await visit(desk.url, { viewport: phone })
    const chat = chatOf(page)
    await chat.say(wide)
    await chat.ends(1)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(phone.width)
    await screenshot(page, 'chat-phone')
  })
})
