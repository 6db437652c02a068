import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../root.ts'
import { programsOf } from '../snippets.ts'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'
import { pageProtocol } from './react/page-protocol.ts'
import { builtPage } from './react.test-kit.ts'

const doc = 'packages/react/README.md'

describePage(doc, (visit) => {
  test('has a program that is a chat', async () => {
    const [program] = programsOf(doc, readFileSync(join(root, doc), 'utf8')).filter(({ isPage }) => isPage)
    const files = await builtPage('19', { name: 'readme.tsx', code: program?.code ?? '' })
    const { url } = await openDesk({
      script: [[{ text: 'One moment.' }, { call: 'refund_order', input: { id: 'ORD-42' } }], 'Refunded.'],
      app: { page: false, protocols: [pageProtocol(files)] },
    })
    const page = await visit(url)
    await page.getByLabel('Message').fill('My money, please')
    await page.keyboard.press('Enter')
    await page.getByText('One moment.').waitFor()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Refunded.').waitFor()
    await page.getByText('refund_order({"id":"ORD-42"}): ok').waitFor()
    await page.reload()
    await page.getByText('Refunded.').waitFor()
    expect(await page.getByRole('article').count()).toBe(2)
  })
})
