import { agent, tool } from 'millrace'
import { client } from 'millrace/client'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { seriousProblems } from './accessibility.test-kit.ts'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot } from './page.test-kit.ts'

const look = tool({ name: 'look_up_order', description: 'l', input: z.object({}), run: () => 'found' })

/** A server with an agent that has several models, and another one. */
function welcomeDesk() {
  const large = scriptedModel(['I am large.'], { id: 'large-1', simulated: true })
  const small = scriptedModel(['I am small.', 'Still small.', 'Small again.'], {
    id: 'small-1',
    simulated: true,
  })
  return openDesk({
    script: [],
    agents: () => ({
      support_desk: agent({
        name: 'support_desk',
        model: large,
        models: [small],
        description: 'Answers questions about orders.',
        starters: ['Where is my order?', 'I want my money back'],
        tools: [look],
      }),
      clerk: agent({ name: 'clerk', model: scriptedModel(['Yes?'], { id: 'other' }) }),
    }),
  })
}

describePage('a new thread', (visit) => {
  test('introduces its agent, and a starter sends its message', async () => {
    const desk = await welcomeDesk()
    const page = await visit(desk.url, { viewport: { width: 320, height: 640 } })
    await page.getByRole('heading', { name: 'Support desk' }).waitFor()
    let loads = 0
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/agents') loads++
    })
    await page.reload()
    const chat = chatOf(page)
    await page.getByRole('heading', { name: 'Support desk' }).waitFor()
    await page.getByText('Answers questions about orders.').waitFor()
    expect(await page.getByRole('list', { name: 'Tools' }).getByRole('listitem').allTextContents()).toEqual([
      'Look up order',
    ])
    const badge = page.getByText('A simulator answers. Token counts and costs are simulated.')
    expect(await badge.count()).toBe(1)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    await screenshot(page, 'chat-welcome')
    expect(await seriousProblems(page)).toEqual([])

    await page.getByRole('combobox', { name: 'Agent' }).selectOption('clerk')
    await page.getByRole('heading', { name: 'Clerk' }).waitFor()
    expect(await badge.count()).toBe(0)
    expect(await page.getByRole('combobox', { name: 'Model' }).count()).toBe(0)
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('support_desk')

    await chat.message.fill('A draft')
    await chat.button('Where is my order?').click()
    await chat.rows('text').getByText('I am large.').waitFor()
    await chat.rows('input').getByText('Where is my order?').waitFor()
    await page.locator('.chat-foot').getByText('Simulated', { exact: true }).waitFor()
    // The agents are the same for all parts of the page.
    expect(loads).toBe(1)
    // What was typed is still there for the next new thread.
    await page.evaluate(() => (location.hash = '#/'))
    await expect.poll(() => chat.message.inputValue()).toBe('A draft')
  })

  test('is answered by the selected model, which the thread remembers', async () => {
    const desk = await welcomeDesk()
    const page = await visit(desk.url)
    const chat = chatOf(page)
    const model = page.getByRole('combobox', { name: 'Model' })
    await model.waitFor()
    expect(await model.locator('option').allTextContents()).toEqual(['large-1', 'small-1'])
    await model.selectOption('small-1')
    await chat.say('Who are you?')
    await chat.rows('text').getByText('I am small.').waitFor()
    await chat.ends(1)
    await page.reload()
    await chat.ends(1)
    await expect.poll(() => model.inputValue()).toBe('small-1')
    await chat.say('And now?')
    await chat.rows('text').getByText('Still small.').waitFor()
    await chat.ends(2)
    await model.selectOption('large-1')
    await chat.say('And you?')
    await chat.rows('text').getByText('I am large.').waitFor()
    await chat.ends(3)
    // Also for an answer that is tried again.
    await model.selectOption('small-1')
    await chat.button('Retry').last().click()
    await chat.rows('text').getByText('Small again.').waitFor()
  })
})

describePage('a thread without messages', (visit) => {
  test('says so', async () => {
    const desk = await welcomeDesk()
    const { id } = await client(desk.url).create()
    const page = await visit(`${desk.url}/#/threads/${id}`)
    await page.getByRole('heading', { name: 'No messages yet' }).waitFor()
    await chatOf(page).say('Hi')
    await chatOf(page).ends(1)
    expect(await page.getByText('No messages yet').count()).toBe(0)
  })
})
