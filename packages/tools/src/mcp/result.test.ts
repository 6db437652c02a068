import { describe, expect, test } from 'vitest'
import { toParts } from '../../../millrace/src/tools/content.ts'
import { toResult } from './result.ts'

type Result = Parameters<typeof toResult>[0]
const partsOf = (result: Partial<Result>) => toParts(toResult({ content: [], ...result }))
const note = (text: string) => [{ type: 'text', text }]

describe('what a server answers', () => {
  test('a resource with text is shown with its address, another is named', () => {
    const text = { type: 'resource' as const, resource: { uri: 'file:///a.md', text: '# A' } }
    const image = { type: 'resource' as const, resource: { uri: 'x:1', blob: 'AAAA', mimeType: 'image/png' } }
    const blob = { type: 'resource' as const, resource: { uri: 'x:2', blob: 'AAAA' } }
    expect(partsOf({ content: [text] })).toEqual(note('file:///a.md:\n# A'))
    expect(partsOf({ content: [image] })).toEqual([{ type: 'image', data: 'AAAA', mediaType: 'image/png' }])
    expect(partsOf({ content: [blob] })).toEqual(note('[x:2, 3 bytes, application/octet-stream: not shown]'))
  })

  test('a link is text', () => {
    const link = {
      type: 'resource_link' as const,
      uri: 'x:1',
      name: 'one',
      mimeType: 'text/plain',
      description: 'first',
    }
    expect(partsOf({ content: [link] })).toEqual(note('[link: x:1 (one, text/plain, first)]'))
  })

  test('an image that models do not see is named', () => {
    const svg = { type: 'image' as const, data: 'AAAA', mimeType: 'image/svg+xml' }
    expect(partsOf({ content: [svg] })).toEqual(note('[image, 3 bytes, image/svg+xml: not shown]'))
  })

  test('structured content stands beside words that say something else', () => {
    const content = [{ type: 'text' as const, text: 'It is warm.' }]
    expect(partsOf({ content, structuredContent: { degrees: 21 } })).toEqual([
      ...content,
      { type: 'json', value: { degrees: 21 } },
    ])
    expect(
      partsOf({ content: note('{ "degrees": 21 }') as never, structuredContent: { degrees: 21 } }),
    ).toHaveLength(1)
  })

  test('nothing is (no output)', () => {
    expect(partsOf({})).toEqual(note('(no output)'))
  })

  test('an error is thrown with all its words, or with a sentence if it has none', () => {
    const content = [
      { type: 'text' as const, text: 'one' },
      { type: 'text' as const, text: 'two' },
    ]
    expect(() => partsOf({ isError: true, content })).toThrow(/^one\ntwo$/)
    expect(() => partsOf({ isError: true })).toThrow('the server says that it failed, and not why')
  })
})
