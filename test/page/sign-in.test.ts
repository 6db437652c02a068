import { client } from 'millrace/client'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'

const secret = 'secret-of-ada'
const auth = (request: Request) =>
  request.headers.get('authorization') === `Bearer ${secret}` ? { user: 'ada' } : undefined

/** The browser logs rejected requests and sockets. */
const tolerates = [/401/, /WebSocket connection to/]

async function signIn(page: Page, token = secret) {
  const dialog = page.getByRole('dialog', { name: 'Sign in' })
  await dialog.getByLabel('Access token').fill(token)
  await dialog.getByRole('button', { name: 'Sign in' }).click()
}

describePage('a server that requires a token', (visit) => {
  test('opens the requested thread after signing in', async () => {
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

  test('reports a rejected token', async () => {
    const { url } = await openDesk({ script: ['Hello.'], app: { auth } })
    const page = await visit(url, { tolerates })
    const box = page.getByLabel('Access token')
    await box.fill('lost')
    await page.keyboard.press('Escape')
    await expect.poll(() => box.inputValue()).toBe('')
    await page.keyboard.press('Escape')
    await signIn(page, 'a guess')
    await page.getByRole('alert').getByText('The server rejected this token.').waitFor()
    await signIn(page)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('lists its agents after signing in', async () => {
    const { url } = await openDesk({ script: ['Hello.'], app: { auth } })
    const page = await visit(url, { tolerates })
    await signIn(page)
    await page.getByLabel('Agent').selectOption('returns')
  })
})
