import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { heldTool, openStore, startApp, untilIdle } from '../threads/threads.test-kit.ts'
import {
  acceptedRequest,
  answerAt,
  answerTo,
  currentAnswer,
  placeOf,
  readThread,
  stopAnswer,
} from './answers.ts'
import { asker } from './protocols.test-kit.ts'

const parrot = () =>
  agent({ model: scriptedModel(({ messages }) => `Yes, ${textOf(messages.at(-1) as never)}`) })

/** A thread whose run waits for a tool. */
async function running() {
  const held = heldTool('wait')
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'wait' }],
  )
  const thread = startApp({ agents: agent({ model, tools: [held.tool] }) }).thread('t')
  const input = await thread.send('Go.')
  await held.startedTimes(1)
  return { thread, held, input }
}

describe('the current answer', () => {
  test('is the one in progress, then the last one', async () => {
    const { thread, held, input } = await running()
    expect(await currentAnswer(thread)).toMatchObject({ answers: input, after: input - 1 })
    held.runs[0]?.release()
    await untilIdle(thread)
    expect(await currentAnswer(thread)).toMatchObject({ answers: input })
  })

  test('is the one that a queued message waits for', async () => {
    const thread = startApp({ agents: parrot(), works: false }).thread('t')
    await thread.send('one')
    expect(await currentAnswer(thread)).toMatchObject({ answers: 1, after: 0, head: 1 })
  })

  test('starts before messages that steer it and were sent before its run started', async () => {
    const store = openStore()
    const waiting = startApp({ agents: parrot(), store, works: false }).thread('t')
    await waiting.send('one')
    await waiting.send('two', { mode: 'steer' })
    const thread = startApp({ agents: parrot(), store }).thread('t')
    await untilIdle(thread)
    expect(await currentAnswer(thread)).toMatchObject({ answers: 1, after: 0 })
  })

  test('is not one that was rewound, unless it is given again', async () => {
    const thread = startApp({ agents: parrot() }).thread('t')
    const input = await thread.send('one')
    const entries = await untilIdle(thread)
    const run = entries.find(({ event }) => event.type === 'run-start')?.seq as number
    const again = await thread.rewind(run)
    await untilIdle(thread)
    expect(await currentAnswer(thread)).toMatchObject({ answers: again })
    await thread.rewind(input)
    expect(await currentAnswer(thread)).toBeUndefined()
  })

  test('does not exist in an empty thread', async () => {
    const thread = startApp({ agents: parrot() }).thread('t')
    await thread.create()
    expect(await currentAnswer(thread)).toBeUndefined()
    expect(await answerAt(thread, 0)).toBeUndefined()
  })
})

describe('an answer that is stopped', () => {
  test('ends its run', async () => {
    const { thread, held, input } = await running()
    await stopAnswer(await answerTo(thread, input), 'enough')
    await untilIdle(thread)
    expect(held.runs[0]?.signal.aborted).toBe(true)
  })

  test('leaves the run of another input alone, also if it waits behind that run', async () => {
    const { thread, held, input } = await running()
    const second = await thread.send('And then?')
    await stopAnswer(await answerTo(thread, second), 'enough')
    expect(held.runs[0]?.signal.aborted).toBe(false)
    held.runs[0]?.release()
    await held.startedTimes(2)
    await stopAnswer(await answerTo(thread, input), 'enough')
    expect(held.runs[1]?.signal.aborted).toBe(false)
  })

  test('is not given at all if no run has started', async () => {
    const thread = startApp({ agents: parrot(), works: false }).thread('t')
    await stopAnswer(await answerTo(thread, await thread.send('one')), 'enough')
    expect((await thread.state()).status).toBe('idle')
  })

  test('keeps waiting for approval', async () => {
    const thread = startApp({ agents: asker() }).thread('t')
    const input = await thread.send('Cut it.')
    await untilIdle(thread)
    await stopAnswer(await answerTo(thread, input), 'enough')
    expect((await thread.info()).status).toBe('waiting')
  })
})

test('the place of an input has the run that answers it now', async () => {
  const { thread, held, input } = await running()
  const later = await thread.send('And then?')
  const { runs, ...view } = await readThread(thread)
  expect(placeOf({ runs, ...view }, input)).toEqual({ isShown: true, run: runs[0] })
  expect(placeOf({ runs, ...view }, later)).toEqual({ isShown: true })
  expect(placeOf({ runs, ...view }, 99)).toEqual({ isShown: false })
  held.runs[0]?.release()
  await thread.rewind(input)
  await untilIdle(thread)
  expect(placeOf(await readThread(thread), input)).toEqual({ isShown: false })
})

test('what came with a message is reduced to what the server accepts, and its metadata', () => {
  const request = { system: 'Be brief.', toolChoice: 'none', metadata: { nth: 1 } } as const
  expect(acceptedRequest(request, new Set(['toolChoice']))).toEqual({
    toolChoice: 'none',
    metadata: { nth: 1 },
  })
  expect(acceptedRequest({ system: 'Be brief.' }, new Set())).toBeUndefined()
})
