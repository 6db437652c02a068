import { describe, expect, test } from 'vitest'
import { asText, asUrl, sourceOf } from './media.ts'

const image = (url: string) => ({ type: 'image', url }) as const

describe('an image or a file', () => {
  test('with data keeps its base64 and media type', () => {
    const part = { type: 'image', data: 'iVBORw==', mediaType: 'image/png' } as const
    expect(sourceOf(part)).toStrictEqual({ data: 'iVBORw==', mediaType: 'image/png' })
    expect(asUrl(part)).toBe('data:image/png;base64,iVBORw==')
  })

  test('with a URL keeps it', () => {
    expect(sourceOf(image('https://host/a.png'))).toStrictEqual({ url: 'https://host/a.png' })
    expect(asUrl(image('https://host/a.png'))).toBe('https://host/a.png')
  })

  test.each([
    ['data:image/png;base64,iVBORw==', 'image/png'],
    ['data:image/svg+xml;charset=utf-8;base64,iVBORw==', 'image/svg+xml'],
    ['DATA:image/png;BASE64,iVBORw==', 'image/png'],
  ])('in a data URL is parsed: %s', (url, mediaType) => {
    expect(sourceOf(image(url))).toStrictEqual({ data: 'iVBORw==', mediaType })
  })

  test('in a data URL without base64 stays a URL', () => {
    expect(sourceOf(image('data:text/plain,hello'))).toStrictEqual({ url: 'data:text/plain,hello' })
  })

  test('may be large', () => {
    const data = 'A'.repeat(4_000_000)
    expect(sourceOf(image(`data:image/png;base64,${data}`)).data).toHaveLength(4_000_000)
  })

  test('of text can be decoded', () => {
    expect(asText(Buffer.from('é🙂\n').toString('base64'))).toBe('é🙂\n')
  })
})
