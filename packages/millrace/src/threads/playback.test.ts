import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { millrace } from './index.ts'
import { eventsOf, heldTool, untilIdle } from './threads.test-kit.ts'

function opened(...rounds: Parameters<typeof scriptedModel>[0] & object[]) {
  const model = scriptedModel(rounds)
  const app = millrace({ agents: agent({ model }), flushMs: 0 })
  return { model, app, thread: app.thread('t') }
}

describe('the played part of an answer', () => {
  test('is all that the next prompt has of it, and the rest is kept', async () => {
    const { model, app, thread } = opened([{ text: 'First. Second.' }], [{ text: 'Sorry.' }])
    await thread.send('go')
    const [run] = eventsOf(await untilIdle(thread), 'run-start')
    await thread.reportPlayback({ run: run?.runId ?? '', round: 1, chars: 6 })
    await thread.send('stop that')
    await untilIdle(thread)
    expect(model.requests[1]?.messages.map(textOf)).toEqual(['go', 'First.', 'stop that'])
    expect(model.requests[1]?.messages[1]).not.toHaveProperty('content.0.unplayed')
    const { messages } = await thread.state()
    expect(messages[1]?.content).toEqual([{ type: 'text', text: 'First.', unplayed: ' Second.' }])
    await app.close()
  })

  test('reaches a run in progress before its next round', async () => {
    const wait = heldTool('wait')
    const model = scriptedModel([
      [{ text: 'I look it up. One moment.' }, { call: 'wait', input: {} }],
      [{ text: 'So.' }],
    ])
    const app = millrace({ agents: agent({ model, tools: [wait.tool] }), flushMs: 0 })
    const thread = app.thread('t')
    await thread.send('go')
    await wait.startedTimes(1)
    const [run] = eventsOf(await thread.read(), 'run-start')
    await thread.reportPlayback({ run: run?.runId ?? '', round: 1, chars: 13 })
    wait.runs[0]?.release()
    await untilIdle(thread)
    expect(model.requests[1]?.messages.map(textOf).slice(0, 2)).toEqual(['go', 'I look it up.'])
    await app.close()
  })

  test('cannot exceed the text, or belong to an unknown round', async () => {
    const { app, thread } = opened([{ text: 'Hello.' }])
    await thread.send('go')
    const [run] = eventsOf(await untilIdle(thread), 'run-start')
    const id = run?.runId ?? ''
    const expectRejection = (playback: unknown) => expect(thread.reportPlayback(playback as never)).rejects
    await expectRejection({ run: id, round: 1, chars: 7 }).toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching("'chars' is 7, but the round has only 6 characters"),
    })
    await expectRejection({ run: id, round: 2, chars: 0 }).toMatchObject({ code: 'not_found' })
    await expectRejection({ run: 'other', round: 1, chars: 0 }).toMatchObject({ code: 'not_found' })
    await expectRejection({ run: id, round: 1 }).toMatchObject({ code: 'invalid_input' })
    await expectRejection(undefined).toMatchObject({ code: 'invalid_input' })
    expect((await thread.state()).messages.map(textOf)).toEqual(['go', 'Hello.'])
    await app.close()
  })
})
