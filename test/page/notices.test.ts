import { agent, type Model } from 'millrace'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'

describePage('the page for a new thread', (visit) => {
  test('shows the notices of the selected agent', async () => {
    const sentence = 'Commands run without a sandbox.'
    const tools = [{ tools: [], notices: async () => [sentence] }]
    const { url } = await openDesk({
      script: [],
      agents: (model: Model) => ({
        coder: agent({ name: 'coder', model, tools }),
        clerk: agent({ name: 'clerk', model }),
      }),
    })
    const page = await visit(url)
    await page.getByText(sentence).waitFor()
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('clerk')
    await expect.poll(() => page.getByText(sentence).count()).toBe(0)
  })
})
