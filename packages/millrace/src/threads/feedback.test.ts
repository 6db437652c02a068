import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { millrace } from './index.ts'
import { eventsOf, heldTool, startApp, untilIdle } from './threads.test-kit.ts'

function opened(...rounds: Parameters<typeof scriptedModel>[0] & object[]) {
  const model = scriptedModel(rounds)
  const app = millrace({ agents: agent({ model }), flushMs: 0 })
  return { model, app, thread: app.thread('t') }
}

describe('a title', () => {
  test('that a user chose replaces the start of the first message, also in forks and searches', async () => {
    const { app, thread } = opened([{ text: 'Hello.' }], [{ text: 'Again.' }])
    await thread.send('Where is ORD-42?')
    await untilIdle(thread)
    await thread.rename('  The lost\n parcel ')
    expect(await thread.info()).toMatchObject({ title: 'The lost parcel' })
    await thread.send('And now?')
    await untilIdle(thread)
    expect(await thread.info()).toMatchObject({ title: 'The lost parcel' })
    const { threads } = await app.threads({ search: 'lost parcel' })
    expect(threads.map(({ id }) => id)).toEqual(['t'])
    const fork = await thread.fork((await thread.info()).head)
    expect(await fork.info()).toMatchObject({ title: 'The lost parcel' })
    await app.close()
  })

  test('must not be empty, and its thread must exist', async () => {
    const { app, thread } = opened()
    await expect(thread.rename('x')).rejects.toMatchObject({ code: 'not_found' })
    await thread.create()
    for (const title of ['', ' \n', 7])
      await expect(thread.rename(title as string)).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await thread.info()).not.toHaveProperty('title')
    await app.close()
  })
})

test('a title and feedback during a run do not disturb it', async () => {
  const held = heldTool('hold')
  const model = scriptedModel([[{ call: 'hold' }], 'Done.'])
  const thread = startApp({ agents: agent({ model, tools: [held.tool] }) }).thread('t')
  await thread.send('go')
  await held.startedTimes(1)
  const [run] = eventsOf(await thread.read(), 'run-start')
  await thread.rename('Renamed')
  await thread.feedback(run?.runId ?? '', { rating: 'up' })
  held.runs[0]?.release()
  const entries = await untilIdle(thread)
  expect(held.runs.map(({ signal }) => signal.aborted)).toEqual([false])
  expect(eventsOf(entries, 'run-start')).toHaveLength(1)
  expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
  expect(await thread.info()).toMatchObject({ title: 'Renamed' })
})

describe('feedback', () => {
  test('is part of the log, and changes nothing else', async () => {
    const { app, thread } = opened([{ text: 'Hello.' }])
    await thread.send('go')
    const [run] = eventsOf(await untilIdle(thread), 'run-start')
    await thread.feedback(run?.runId ?? '', { rating: 'down', note: 'Wrong.', user: 'ann' })
    expect((await thread.read()).at(-1)?.event).toEqual({
      type: 'feedback',
      run: run?.runId,
      rating: 'down',
      note: 'Wrong.',
      user: 'ann',
    })
    await expect.poll(async () => (await thread.info()).status).toBe('idle')
    expect((await thread.state()).messages.map(textOf)).toEqual(['go', 'Hello.'])
    await app.close()
  })

  test('needs a run of the thread, and a rating that exists', async () => {
    const { app, thread } = opened([{ text: 'Hello.' }])
    await thread.send('go')
    const [run] = eventsOf(await untilIdle(thread), 'run-start')
    const id = run?.runId ?? ''
    await expect(thread.feedback('other', { rating: 'up' })).rejects.toMatchObject({ code: 'not_found' })
    for (const given of [{ rating: 'great' }, { note: 'x'.repeat(4001) }, { stars: 5 }, undefined])
      await expect(thread.feedback(id, given as never)).rejects.toMatchObject({ code: 'invalid_input' })
    await app.close()
  })
})
