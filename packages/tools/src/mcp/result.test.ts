import { describe, expect, test } from 'vitest'
import { toParts } from '../../../millrace/src/tools/content.ts'
import { toResult } from './result.ts'

type Result = Parameters<typeof toResult>[0]
const partsOf = (result: Partial<Result>) => toParts(toResult({ content: [], ...result }))
const note = (text: string) => [{ type: 'text', text }]

describe('the result of a server', () => {
  test('a text resource is included with its URI, others are mentioned', () => {
    const text = { type: 'resource' as const, resource: { uri: 'file:///a.md', text: '# A' } }
    const image = { type: 'resource' as const, resource: { uri: 'x:1', blob: 'AAAA', mimeType: 'image/png' } }
    const blob = { type: 'resource' as const, resource: { uri: 'x:2', blob: 'AAAA' } }
    expect(partsOf({ content: [text] })).toEqual(note('file:///a.md:\n# A'))
    expect(partsOf({ content: [image] })).toEqual([{ type: 'image', data: 'AAAA', mediaType: 'image/png' }])
    expect(partsOf({ content: [blob] })).toEqual(note('[x:2, 3 bytes, application/octet-stream: not shown]'))
  })

  test('a link becomes text', () => {
    const link = {
      type: 'resource_link' as const,
      uri: 'x:1',
      name: 'one',
      mimeType: 'text/plain',
      description: 'first',
    }
    expect(partsOf({ content: [link] })).toEqual(note('[link: x:1 (one, text/plain, first)]'))
  })

  test('an unsupported image is mentioned', () => {
    const svg = { type: 'image' as const, data: 'AAAA', mimeType: 'image/svg+xml' }
    expect(partsOf({ content: [svg] })).toEqual(note('[image, 3 bytes, image/svg+xml: not shown]'))
  })

  test('structured content is kept next to different text', () => {
    const content = [{ type: 'text' as const, text: 'It is warm.' }]
    expect(partsOf({ content, structuredContent: { degrees: 21 } })).toEqual([
      ...content,
      { type: 'json', value: { degrees: 21 } },
    ])
    expect(
      partsOf({ content: note('{ "degrees": 21 }') as never, structuredContent: { degrees: 21 } }),
    ).toHaveLength(1)
  })

  test('an empty result is (no output)', () => {
    expect(partsOf({})).toEqual(note('(no output)'))
  })

  test('an error is thrown with its text, or with a default message', () => {
    const content = [
      { type: 'text' as const, text: 'one' },
      { type: 'text' as const, text: 'two' },
    ]
    expect(() => partsOf({ isError: true, content })).toThrow(/^one\ntwo$/)
    expect(() => partsOf({ isError: true })).toThrow('the server reported an error without a message')
  })
})
