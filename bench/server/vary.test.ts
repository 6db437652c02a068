import { expect, it } from 'vitest'
import type { Wire } from '../contract.ts'
import { renderChat, renderMessages, renderResponses } from './render.ts'
import { scenarioOf } from './scenario.ts'
import { varied } from './vary.ts'

const renderers = { chat: renderChat, responses: renderResponses, messages: renderMessages }

it.each<Wire>(['chat', 'responses', 'messages'])('varied frames of %s carry the same text', (wire) => {
  const scenario = scenarioOf('varied-200')
  if (!scenario) throw new Error('no scenario')
  const options = { usage: false, obfuscation: true }
  const frames = renderers[wire]({ name: 'v', scenario, round: 0, parts: scenario.round(0), options })
  const changed = varied(frames)
  const dataOf = ({ text }: { text: string }) => text.slice(text.indexOf('data: ') + 6, -2)
  const events = (all: typeof frames) =>
    all
      .map(dataOf)
      .filter((data) => data !== '[DONE]')
      .map((data) => JSON.parse(data))
  const textOf = (event: ReturnType<typeof events>[number]) =>
    wire === 'chat' ? event.choices[0]?.delta.content : wire === 'responses' ? event.delta : event.delta?.text
  expect(events(changed).map(textOf)).toEqual(events(frames).map(textOf))
  const shape = (event: object) => Object.keys(event).join()
  expect(new Set(events(changed).map(shape)).size).toBeGreaterThan(100)
})
