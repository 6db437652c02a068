import { expect, test } from 'vitest'
import type { JsonObject, Message } from '../../protocol/index.ts'
import { look } from '../openai-chat/conversation.test-kit.ts'
import { del, sentBody, user } from '../wires.test-kit.ts'
import type { CacheTime } from './cache-marks.ts'
import { anthropicMessageCache } from './messages.ts'
import { anthropicBody } from './request.ts'
import { traitsOf } from './traits.ts'

const model = 'claude-sonnet-4-5'

/** The paths of everything that has a cache breakpoint. */
function marks(
  messages: readonly Message[],
  { tools = [look], cache = '5m' as CacheTime, extra = {} as JsonObject } = {},
) {
  const settings = { extra }
  const body = anthropicBody(
    { messages, tools, settings },
    { model, convert: anthropicMessageCache('x'), traits: traitsOf(model), settings, cache },
  )
  const found: [string, unknown][] = []
  const visit = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value))
      if (key === 'cache_control') found.push([path, inner])
      else visit(inner, path ? `${path}.${key}` : key)
  }
  visit(body, '')
  return found
}

const round = (at: number): Message[] => [
  { role: 'assistant', content: [{ type: 'tool-call', callId: `c${at}`, name: 'look', input: {} }] },
  { role: 'tool', callId: `c${at}`, name: 'look', content: [] },
]
const beginning: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hi' },
]

test('breakpoints are set after the tools, the system prompt and the last two user turns', () => {
  const messages = [...beginning, ...round(1), ...round(2), ...round(3)]
  expect(marks(messages)).toEqual(
    ['system.0', 'messages.4.content.0', 'messages.6.content.0', 'tools.0'].map((path) => [
      path,
      { type: 'ephemeral' },
    ]),
  )
})

test('each request repeats a breakpoint of the previous one', () => {
  const paths = (messages: readonly Message[]) => marks(messages).map(([path]) => path)
  const before = paths([...beginning, ...round(1)])
  const after = paths([...beginning, ...round(1), ...round(2)])
  expect(after).toContain(before.findLast((path) => path.startsWith('messages')))
})

test('at most four breakpoints are set, and none in an empty conversation', () => {
  const long = Array.from({ length: 20 }, (_, at) => round(at)).flat()
  expect(marks([...beginning, ...long])).toHaveLength(4)
  expect(marks(beginning).map(([path]) => path)).toEqual(['system.0', 'messages.0.content.0', 'tools.0'])
  expect(marks([{ role: 'user', content: 'Hi' }], { tools: [] }).map(([path]) => path)).toEqual([
    'messages.0.content.0',
  ])
})

test('the ttl is sent for one hour and omitted for five minutes', () => {
  expect(marks(beginning, { cache: '1h' })[0]).toEqual(['system.0', { type: 'ephemeral', ttl: '1h' }])
})

test('only the last of several tools and system prompts gets a breakpoint', () => {
  const tools = [look, { ...look, name: 'other' }]
  const messages: Message[] = [{ role: 'system', content: 'First.' }, ...beginning]
  expect(marks(messages, { tools }).map(([path]) => path)).toEqual([
    'system.1',
    'messages.0.content.0',
    'tools.1',
  ])
})

test('automatic caching by the provider turns our breakpoints off', () => {
  expect(marks(beginning, { extra: { cache_control: { type: 'ephemeral' } } })).toEqual([
    ['', { type: 'ephemeral' }],
  ])
})

test("a caller's own breakpoints turn ours off", async () => {
  const search = { type: 'web_search_20250305', name: 'web_search', cache_control: { type: 'ephemeral' } }
  const tools = [{ ...del, inputSchema: {} }]
  const body = await sentBody('Messages', {
    messages: [{ role: 'system', content: 's' }, user],
    tools,
    settings: { extra: { tools: [search] } },
  })
  expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(1)
})
