import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { CallDisplay } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { eventsOf, startApp, untilIdle } from '../threads/threads.test-kit.ts'
import { applyEntry, createView } from '../view/index.ts'
import { tool } from './tool.ts'

const shownAs = (id: unknown): CallDisplay => ({ kind: 'read', title: `Look at ${id}` })

function opened(
  display: ((input: { id: number }) => CallDisplay) | undefined,
  { approve = false, isRun = true } = {},
) {
  const look = tool({
    name: 'look',
    description: 'Looks at something',
    input: { jsonSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] } },
    approve,
    ...(display && { display: (input) => display(input as { id: number }) }),
    ...(isRun && {
      run: (_: unknown, { progress }: { progress: (data: unknown) => void }) => {
        progress({ display: { terminal: 'term_1' } })
        return 'seen'
      },
    }),
  })
  const model = scriptedModel([[{ call: 'look', input: { id: 1 } }], 'Done.'])
  return startApp({ agents: agent({ model, tools: [look] }) }).thread('t')
}

describe('the display of a call', () => {
  test('is in the log when the call starts, and in the view with what the tool adds later', async () => {
    const thread = opened(({ id }) => shownAs(id))
    await thread.send('Look.')
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'tool-start')).toMatchObject([{ display: shownAs(1) }])
    const view = createView()
    const displays = entries.flatMap((entry) => applyEntry(view, entry).display ?? [])
    expect(displays).toEqual([shownAs(1), { ...shownAs(1), terminal: 'term_1' }])
    expect(view.runs[0]?.calls[0]).toMatchObject({ display: displays[1], progress: [], progressCount: 0 })
  })

  test('is in the request for approval, and is not repeated when the call starts', async () => {
    const thread = opened(({ id }) => shownAs(id), { approve: true })
    await thread.send('Look.')
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'approval-request')).toMatchObject([{ display: shownAs(1) }])
    const view = createView()
    for (const entry of entries) applyEntry(view, entry)
    expect(view.runs[0]?.calls[0]?.display).toEqual(shownAs(1))
    await thread.approve('call_1', { approved: true })
    const later = await untilIdle(thread, view.head)
    expect(eventsOf(later, 'tool-start')).toHaveLength(1)
    expect(eventsOf(later, 'tool-start')[0]).not.toHaveProperty('display')
  })

  test('is that of the input that a person changed', async () => {
    const thread = opened(({ id }) => shownAs(id), { approve: true })
    await thread.send('Look.')
    await untilIdle(thread)
    await thread.approve('call_1', { approved: true, input: { id: 2 } })
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'tool-start')).toMatchObject([{ input: { id: 2 }, display: shownAs(2) }])
  })

  test('is also that of a call that a client runs', async () => {
    const thread = opened(({ id }) => shownAs(id), { isRun: false })
    await thread.send('Look.')
    expect(eventsOf(await untilIdle(thread), 'tool-start')).toMatchObject([{ display: shownAs(1) }])
  })

  test.each<readonly [string, () => unknown]>([
    ['throws', () => JSON.parse('{')],
    ['returns text', () => 'Look'],
    ['returns nothing', () => undefined],
    ['returns what has no JSON form', () => ({ title: 1n })],
  ])('is left out if the function %s, and the call runs', async (_, display) => {
    for (const approve of [false, true]) {
      const thread = opened(display as () => CallDisplay, { approve })
      await thread.send('Look.')
      await untilIdle(thread)
      if (approve) await thread.approve('call_1', { approved: true })
      const entries = await untilIdle(thread)
      const [start] = eventsOf(entries, 'tool-start')
      expect(start).not.toHaveProperty('display')
      expect(eventsOf(entries, 'tool-result')).toMatchObject([{ status: 'ok' }])
    }
  })

  test('must be a function', () => {
    const options = { name: 'x', description: 'x', input: { jsonSchema: { type: 'object' } }, display: {} }
    expect(() => tool(options as never)).toThrow("'display' must be a function")
  })
})
