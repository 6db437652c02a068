import { permission } from '@millrace/tools'
import { agent, tool } from 'millrace'
import { client } from 'millrace/client'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { seriousProblems } from './accessibility.test-kit.ts'
import { openDesk } from './desk.ts'
import { askedThread, clipboard, openLatestRun } from './detail.test-kit.ts'
import { copied, describePage, screenshot } from './page.test-kit.ts'

const system = 'You are the desk.\n\nAnswer in one sentence.'
const look = tool({
  name: 'look',
  description: 'Looks up an order',
  input: z.object({ id: z.string().describe('Its number') }),
  run: () => 'Found.',
})

function deskOf(app = {}) {
  return openDesk({
    script: [],
    app,
    agents: () => ({
      desk: agent({
        model: scriptedModel(['Hello.', 'Again.'], { id: 'small', price: { input: 1, output: 4 } }),
        models: [scriptedModel([], { id: 'large' })],
        description: 'Knows all orders.',
        tools: [look],
        system,
        maxRounds: 7,
        settings: { temperature: 0.3 },
        budget: { usd: 2 },
        permission: permission({ allow: ['look'] }),
      }),
    }),
  })
}

describePage('the agent view', (visit) => {
  test.each(['light', 'dark'] as const)('shows how the agent is set up, in %s mode', async (colorScheme) => {
    const { url } = await deskOf()
    const page = await visit(url, { ...clipboard, colorScheme })
    await page.goto(await askedThread(url, 'Hello?'))
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Show agent' }).focus()
    await page.keyboard.press('Enter')
    const view = page.getByRole('tabpanel', { name: 'Agent' })
    await view.getByText('Knows all orders.').waitFor()
    expect(await copied(view.getByRole('button', { name: 'Copy prompt' }))).toBe(system)
    const prompt = view.getByRole('region', { name: 'Prompt' })
    expect(await prompt.textContent()).toContain(system)
    await view.getByText('Input schema').click()
    await view.getByText('description: "Its number"', { exact: true }).waitFor()
    for (const [name, text] of [
      ['Rules', 'allow look'],
      ['Models', 'large'],
      ['Limits', '7'],
      ['Settings', 'temperature: 0.3'],
      ['Budget', 'usd: 2'],
    ] as const)
      await view.getByRole('region', { name, exact: true }).getByText(text).first().waitFor()
    expect(await seriousProblems(page)).toEqual([])
    await screenshot(page, `agent-view-${colorScheme}`)
    // The tab stays, and arrow keys reach it.
    await page.getByRole('tab', { name: 'Agent' }).press('ArrowRight')
    await page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor()
  })

  test('is reached without a run: from the page for a new thread, an empty thread, and the palette', async () => {
    const { url } = await deskOf()
    const page = await visit(url)
    const view = page.getByRole('tabpanel', { name: 'Agent' })
    const close = () => page.getByRole('button', { name: 'Close inspector' }).click()
    await page.getByRole('button', { name: 'Show agent' }).click()
    await view.getByText('Knows all orders.').waitFor()
    // Without a thread there is nothing else to show.
    expect(await page.getByRole('tab').allTextContents()).toEqual(['Agent'])
    expect(await seriousProblems(page)).toEqual([])
    await screenshot(page, 'agent-view-new')
    await close()
    await view.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Commands' }).getByRole('combobox').fill('agent set')
    await page.getByRole('option', { name: 'Agent set-up', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await view.getByRole('heading', { name: 'desk' }).waitFor()
    await close()

    const empty = await client(url).create()
    await page.goto(`${url}/#/threads/${empty.id}`)
    await page.getByRole('button', { name: 'Inspect', exact: true }).click()
    await page.getByRole('tab', { name: 'Detail' }).click()
    const detail = page.getByRole('tabpanel', { name: 'Detail' })
    await detail.getByText('No runs in this thread yet.').waitFor()
    await detail.getByRole('button', { name: 'Show agent' }).click()
    await view.getByText('Knows all orders.').waitFor()
  })

  test('says what is missing to a user who may not inspect, also in the playground', async () => {
    const { url } = await deskOf({ auth: () => ({ user: 'ada' }) })
    const page = await visit(url, { tolerates: [/403/] })
    await page.goto(await askedThread(url, 'Hello?'))
    const detail = await openLatestRun(page)
    await detail.getByRole('button', { name: 'Show agent' }).click()
    await page.getByRole('alert').getByText('You need inspect access to see how desk is set up').waitFor()
    await page.getByRole('tab', { name: 'Detail' }).click()
    await detail.getByRole('button', { name: 'Round 1' }).click()
    await detail.getByRole('button', { name: 'Open in playground' }).click()
    const playground = page.getByRole('tabpanel', { name: 'Playground' })
    await playground.getByText('but not the prompt or the tools').waitFor()
    expect(await playground.getByRole('textbox', { name: 'System prompt' }).count()).toBe(0)
    // The models to choose from are known to everyone.
    const models = playground.getByRole('combobox', { name: 'Model', exact: true }).locator('option')
    expect(await models.allTextContents()).toEqual(['small', 'large'])
    await playground.getByRole('textbox', { name: 'user message 1' }).fill('Once more?')
    await playground.getByRole('button', { name: 'Run', exact: true }).click()
    await playground.getByText('Again.').first().waitFor()
  })
})
