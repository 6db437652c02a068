import { expect, test } from 'vitest'
import { startExample } from '../example-process.ts'
import { describePage, screenshot } from './page.test-kit.ts'

describePage('the React example', (visit) => {
  test('streams, runs tools here and there, asks for approval, and keeps versions', async () => {
    const url = await startExample('react-chat')
    const page = await visit(url)
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const ask = async (text: string) => {
      await page.getByLabel('Message', { exact: true }).fill(text)
      await page.getByLabel('Message', { exact: true }).press('Enter')
    }
    await ask('Where is ORD-42?')
    await page.getByText('lookup_order({"id":"ORD-42"})done').waitFor()
    await page.getByText('That is done.').waitFor()

    await ask('I want my money back.')
    const approval = page.getByRole('alertdialog', { name: 'Refund ORD-42?' })
    await approval.waitFor()
    await page.reload()
    await screenshot(page, 'react-chat')
    await approval.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('refund_order({"id":"ORD-42"})denied').waitFor()
    await page.getByText('Then I leave it as it is.').waitFor()
    await approval.waitFor({ state: 'detached' })

    await button('Edit').last().click()
    await page.getByLabel('Edited message').fill('What time is it?')
    await button('Save').click()
    await page.getByText('local_time({})done').waitFor()
    await page.getByText('2 of 2').waitFor()
    expect(await page.locator('article.user .text').allInnerTexts()).toEqual([
      'Where is ORD-42?',
      'What time is it?',
    ])
    await button('Previous version').click()
    await page.getByText('I want my money back.').waitFor()

    await button('New chat').click()
    await expect.poll(() => page.getByRole('article').count()).toBe(0)
    await page.goBack()
    await page.getByText('1 of 2').waitFor()
  })
})
