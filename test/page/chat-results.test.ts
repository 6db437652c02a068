import { agent, type ToolResultPart, tool, toolContent } from 'millrace'
import { type ScriptStep, scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { chatOf, png } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'

describePage('the result of a call', (visit) => {
  test('is shown if it is an image, and only named if it could contain scripts', async () => {
    const parts: ToolResultPart[] = [
      { type: 'text', text: 'Two pictures.' },
      { type: 'image', data: png(6, 3).toString('base64'), mediaType: 'image/png' },
      { type: 'image', data: btoa('<svg onload="alert(1)"/>'), mediaType: 'image/svg+xml' },
      { type: 'image', url: 'https://example.com/cat.png' },
    ]
    const paint = tool({
      name: 'paint',
      description: 'p',
      input: z.object({}),
      run: () => toolContent(parts),
    })
    const desk = await openDesk({
      script: ['-'],
      agents: () => ({
        helper: agent({ model: scriptedModel([[{ call: 'paint' }], 'There.']), tools: [paint] }),
      }),
    })
    const chat = chatOf(await visit(desk.url))
    await chat.say('Go')
    await chat.ends(1)
    const card = chat.card('paint')
    const shown = card.getByRole('img')
    await shown.waitFor()
    await chat.open('paint')
    await card.getByText('Two pictures.').waitFor()
    expect(await shown.count()).toBe(1)
    await expect
      .poll(() => shown.evaluate((img: HTMLImageElement) => [img.naturalWidth, img.naturalHeight]))
      .toEqual([6, 3])
    await card.getByText('image/svg+xml').waitFor()
    expect(await card.getByRole('link').getAttribute('href')).toBe('https://example.com/cat.png')
  })

  test('of a sub-agent with many rows is shown in part', async () => {
    const look = tool({ name: 'look', description: 'l', input: z.object({}), run: () => 'seen' })
    const steps = scriptedModel((_, index) =>
      index < 100 ? [{ text: 'Hm.' }, { call: 'look' }] : 'Seen all.',
    )
    const clerk = agent({ name: 'clerk', model: steps, tools: [look], maxRounds: 200 })
    const desk = await openDesk({
      script: [[{ call: 'clerk', input: { prompt: 'Look' } }], 'So be it.'],
      agents: (model) => ({ helper: agent({ model, tools: [clerk.asTool({ description: 'c' })] }) }),
    })
    const page = await visit(desk.url)
    const chat = chatOf(page)
    await chat.say('Look')
    await chat.ends(1)
    const card = await chat.open('clerk')
    await card.getByText('Earlier rows are not shown.').waitFor()
    expect(await card.locator('.chat-row').count()).toBe(40)
  })

  test('of a provider tool has a card, too', async () => {
    const round: ScriptStep[] = [
      { providerTool: 'web_search', input: { query: 'mill race' }, output: { hits: 3 } },
      { providerTool: 'fetch_page', input: {}, output: 'no such page', isError: true },
      { text: 'A channel of water.' },
    ]
    const desk = await openDesk({
      script: ['-'],
      agents: () => ({ helper: agent({ model: scriptedModel([round]) }) }),
    })
    const chat = chatOf(await visit(desk.url))
    await chat.say('What is a mill race?')
    await chat.ends(1)
    const search = await chat.open('web_search')
    await search.getByText('by the provider').waitFor()
    await search.getByText('Done', { exact: true }).waitFor()
    await search.getByText('{"query":"mill race"}').waitFor()
    await search.getByText('{"hits":3}').waitFor()
    await chat
      .card('fetch_page')
      .getByText(/Failed · no such page/)
      .waitFor()
  })
})
