import { client } from 'millrace/client'
import type { Page } from 'playwright-core'
import { test } from 'vitest'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'

const secret = 'secret-of-ada'
const auth = (request: Request) =>
  request.headers.get('authorization') === `Bearer ${secret}` ? { user: 'ada' } : undefined

/** The browser tells of what it was refused, and of the socket. */
const tolerates = [/401/, /WebSocket connection to/]

async function signIn(page: Page, token = secret) {
  const dialog = page.getByRole('dialog', { name: 'Who are you?' })
  await dialog.getByLabel('Token').fill(token)
  await dialog.getByRole('button', { name: 'Sign in' }).click()
}

describePage('a server that asks who one is', (visit) => {
  test('is told, and the thread that was asked for is there with all that can be done in it', async () => {
    const { url } = await openDesk({
      script: [[{ text: 'It is on its way' }, { hang: true }]],
      app: { auth },
    })
    const thread = await client(url, { token: secret }).create()
    await thread.send('Where is it?')
    const page = await visit(`${url}/#/threads/${thread.id}`, { tolerates })
    const chat = chatOf(page)
    await signIn(page)
    await chat.rows('text').getByText('It is on its way').waitFor()
    await chat.button('Stop').click()
    await chat.ends(1)
  })

  test('says so if it does not know the token', async () => {
    const { url } = await openDesk({ script: ['Hello.'], app: { auth } })
    const page = await visit(url, { tolerates })
    await signIn(page, 'a guess')
    await page.getByRole('alert').getByText('The token you gave is not known here.').waitFor()
    await signIn(page)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('offers its agents to somebody who has signed in', async () => {
    const { url } = await openDesk({ script: ['Hello.'], app: { auth } })
    const page = await visit(url, { tolerates })
    await signIn(page)
    await page.getByLabel('Agent').selectOption('returns')
  })
})
