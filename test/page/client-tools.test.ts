import { agent, tool } from 'millrace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { chatOf, sent } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot } from './page.test-kit.ts'

/** A server whose agent has a tool that a client runs. */
async function pickDesk() {
  const pick = tool({ name: 'pick_color', description: 'p', input: z.object({ of: z.string() }) })
  return openDesk({
    script: [[{ call: 'pick_color', input: { of: 'sky' } }], 'So be it.'],
    agents: (model) => ({ helper: agent({ model, tools: [pick] }) }),
  })
}

describePage('a call that a client runs', (visit) => {
  async function waiting() {
    const desk = await pickDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Paint it')
    const card = chat.card('pick_color')
    await card.getByText('Waiting for a result from a client', { exact: true }).waitFor()
    const result = card.getByRole('textbox', { name: /^Result/ })
    await result.waitFor()
    return { desk, page, chat, card, result }
  }

  test('says so, shows its arguments once, and offers no approval', async () => {
    const { page, chat, card } = await waiting()
    await screenshot(page, 'chat-client-tool')
    expect(await card.getByText('sky', { exact: true }).count()).toBe(1)
    expect(await chat.button('Allow').count()).toBe(0)
    await expect.poll(chat.announced).toContain('Tool pick_color: Waiting for a result from a client.')
  })

  test('takes a result as JSON', async () => {
    const { desk, chat, card, result } = await waiting()
    await result.fill('{ "color": "blue" }')
    await chat.button('Send result').click()
    await chat.ends(1)
    expect(sent(desk.provider, 2)).toContain('{\\"color\\":\\"blue\\"}')
    await chat.open('pick_color')
    await card.getByText('Answered by a client').waitFor()
    await card.getByText('{"color":"blue"}').waitFor()
    expect(await result.count()).toBe(0)
  })

  test('takes a result as text, and that it failed', async () => {
    const { desk, page, chat, card, result } = await waiting()
    await result.fill('There is no sky')
    await page.getByRole('checkbox', { name: 'The call failed' }).check()
    await chat.button('Send result').click()
    await chat.ends(1)
    expect(sent(desk.provider, 2)).toContain('There is no sky')
    await card.getByText('Failed').waitFor()
  })

  test('can be denied', async () => {
    const { desk, chat, card } = await waiting()
    await chat.button('Deny').click()
    await chat.ends(1)
    await card.getByText('Denied').waitFor()
    const log = await desk.app.thread(chat.threadId()).read()
    expect(log.find(({ event }) => event.type === 'tool-result')?.event).toMatchObject({ status: 'denied' })
  })

  test('is answered by the client while the page is open', async () => {
    const { desk, chat, card, result } = await waiting()
    await result.fill('half of a result')
    const thread = desk.app.thread(chat.threadId())
    const [request] = (await thread.state()).approvals
    await thread.respond(request?.callId ?? '', 'green')
    await chat.ends(1)
    await chat.open('pick_color')
    await card.getByText('green').waitFor()
    expect(await result.count()).toBe(0)
  })
})
