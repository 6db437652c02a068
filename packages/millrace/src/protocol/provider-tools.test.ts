import { expect, test } from 'vitest'
import { checkMessages, readTranscript, writeTranscript } from './check.ts'
import type { Message } from './messages.ts'

const opaque = { provider: 'p', data: { id: 's' } }
const part = {
  type: 'provider-tool',
  callId: 's',
  name: 'search',
  input: { q: 1 },
  output: ['a'],
  opaque,
} as const
const message: Message = { role: 'assistant', content: [part, { ...part, isError: true }] }

test('a provider tool is read back from a transcript unchanged', () => {
  expect(readTranscript(JSON.stringify(writeTranscript([message])))).toStrictEqual([message])
})

test.each([
  [{ ...part, opaque: undefined }, 'messages[0].content[0].opaque must be { provider, data }'],
  [{ ...part, callId: 5 }, 'messages[0].content[0].callId must be a string'],
  [{ ...part, name: undefined }, 'messages[0].content[0].name must be a string'],
])('a provider tool with missing or invalid fields is rejected', (broken, problem) => {
  expect(() => checkMessages([{ role: 'assistant', content: [broken] }], 'x')).toThrow(problem)
})

test('a provider tool is not allowed in a user message', () => {
  expect(() => checkMessages([{ role: 'user', content: [part] }], 'x')).toThrow(
    'must be one of text, image, file',
  )
})

test('media types are normalized to lower case', () => {
  const file = { type: 'file', mediaType: 'Application/PDF', data: 'AAAA' }
  expect(checkMessages([{ role: 'user', content: [file] }], 'x')).toMatchObject([
    { content: [{ mediaType: 'application/pdf' }] },
  ])
})
