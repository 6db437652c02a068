import { expect, test } from 'vitest'
import { bossWithClerk, chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, phone } from './page.test-kit.ts'

describePage('the chat', (visit) => {
  test('growing reasoning shows its last line', async () => {
    const desk = await openDesk({
      script: [[{ reasoning: 'First the order.\nThen the par' }, { hang: true }]],
    })
    const chat = chatOf(await visit(desk.url))
    await chat.say('Go')
    await chat.rows('reasoning').getByText('Then the par').waitFor()
    expect(await chat.rows('reasoning').textContent()).not.toContain('First')
  })

  test('a repeated request of a sub-agent is shown once', async () => {
    const pays = [5, 7].map((amount) => ({ call: 'pay', input: { amount } }))
    const desk = await openDesk({
      script: [[{ call: 'clerk', input: { prompt: 'Pay the bills.' } }], pays, 'I have paid.', 'It is paid.'],
      agents: bossWithClerk,
    })
    const chat = chatOf(await visit(desk.url))
    await chat.say('Settle this.')
    await expect.poll(() => chat.button('Allow').count()).toBe(2)
    await chat.button('Allow').first().click()
    const asked = async () => {
      const entries = await desk.app.thread(chat.threadId()).read()
      return entries.filter(({ event }) => event.type === 'approval-request').length
    }
    await expect.poll(asked).toBe(3)
    await expect.poll(() => chat.button('Allow').count()).toBe(1)
    await chat.button('Allow').click()
    await chat.ends(1)
    expect(await chat.conversation.getByText('No decision').count()).toBe(0)
  })

  test('entries from before the thread was opened are not announced', async () => {
    const desk = await openDesk({ script: ['The first answer.', 'The second answer.'] })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('One')
    await expect.poll(chat.announced).toContain('The first answer.')
    await page.reload()
    await chat.rows('text').getByText('The first answer.').waitFor()
    await chat.say('Two')
    await expect.poll(chat.announced).toContain('The second answer.')
    expect(await chat.announced()).not.toContain('The first answer.')
  })

  test('all buttons for a run are visible on a phone', async () => {
    const desk = await openDesk({ script: [[{ text: 'Hm' }, { hang: true }]] })
    const page = await visit(desk.url, { viewport: phone })
    const chat = chatOf(page)
    await chat.say('Go')
    await chat.button('Stop').waitFor()
    for (const name of ['Stop', 'Send']) {
      const { x, width } = (await chat.button(name).boundingBox()) ?? { x: 0, width: phone.width }
      expect(x + width).toBeLessThan(phone.width)
    }
  })
})
