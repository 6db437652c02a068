import { describe, expect, test } from 'vitest'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { callEcho, collect, connectionReset, echo, failOnUnhandledRejections, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

test('when a model fails for good, the next one is used for the rest of the run', async () => {
  const clock = fakeClock()
  const first = scriptedModel(() => [{ error: connectionReset }], { id: 'first' })
  const second = scriptedModel([callEcho('x'), 'done'], { id: 'second' })
  const run = agent({ model: [first, second], tools: [echo], clock }).stream('go')
  const events = await clock.until(collect(run))
  expect(first.requests).toHaveLength(3)
  expect(of(events, 'round-retry').map((event) => event.model)).toEqual(['first', 'first', 'second'])
  expect(of(events, 'round-end').map((event) => event.model)).toEqual(['second', 'second'])
  expect(of(events, 'round-start')[1]?.model).toBe('second')
})

test('a permanent error switches to the next model at once', async () => {
  const first = scriptedModel(script.failing({ code: 'auth', message: 'bad key' }))
  const second = scriptedModel(['hello'], { id: 'second', capabilities: { images: false } })
  const image = { role: 'user', content: [{ type: 'image', url: 'https://example.test/cat.png' }] } as const
  const run = agent({ model: [first, second] }).stream(image)
  expect(of(await collect(run), 'round-retry')).toMatchObject([{ model: 'second', delayMs: 0 }])
  expect(second.requests[0]?.messages).toEqual([
    {
      role: 'user',
      content: [{ type: 'text', text: '[an image was left out: this model does not accept images]' }],
    },
  ])
})

test('a file is replaced by a note for a fallback model that does not accept files', async () => {
  const first = scriptedModel(script.failing({ code: 'auth', message: 'bad key' }))
  const second = scriptedModel(['hello'], { capabilities: { files: false } })
  const file = { type: 'file', mediaType: 'application/pdf', data: 'AAAA' } as const
  await agent({ model: [first, second] }).run({ role: 'user', content: [file] })
  expect(first.requests[0]?.messages).toEqual([{ role: 'user', content: [file] }])
  expect(second.requests[0]?.messages).toEqual([
    {
      role: 'user',
      content: [{ type: 'text', text: '[a file was left out: this model does not accept files]' }],
    },
  ])
})

describe('a fallback without tool support', () => {
  const falling = async (more: object = {}) => {
    const first = scriptedModel(script.failing({ code: 'auth' }))
    const second = scriptedModel(['Without tools.'], { id: 'plain', capabilities: { tools: false } })
    const run = agent({ model: [first, second], tools: [echo], ...more }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Without tools.' })
    return [first.requests[0], second.requests[0]]
  }

  test('is sent no tools', async () => {
    const [first, second] = await falling()
    expect(first?.tools).toHaveLength(1)
    expect(second?.tools).toEqual([])
  })

  test('is sent no tool choice', async () => {
    const [first, second] = await falling({ toolChoice: 'required' })
    expect(first?.toolChoice).toBe('required')
    expect(second).not.toHaveProperty('toolChoice')
  })
})
