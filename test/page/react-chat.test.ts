import { expect, test } from 'vitest'
import { startExample } from '../example-process.ts'
import { describePage } from './page.test-kit.ts'

describePage('the React example', (visit) => {
  test('streams, runs tools, asks for approval, and shows the same conversation after a reload', async () => {
    const url = await startExample('react-chat')
    const page = await visit(url)
    const ask = async (text: string) => {
      await page.getByLabel('Message').fill(text)
      await page.getByLabel('Message').press('Enter')
    }
    await ask('Where is ORD-42?')
    await page.getByText('lookup_order({"id":"ORD-42"}) done').waitFor()
    await page.getByText('That is **done**.').waitFor()

    await ask('I want my money back.')
    const approval = page.getByRole('alertdialog', { name: 'Refund ORD-42?' })
    await approval.waitFor()
    await page.reload()
    await approval.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('refund_order({"id":"ORD-42"}) failed').waitFor()
    await page.getByText('Then I leave it as it is.').waitFor()
    await approval.waitFor({ state: 'detached' })
    expect(await page.locator('article.user').allInnerTexts()).toEqual([
      'Where is ORD-42?',
      'I want my money back.',
    ])
  })
})
