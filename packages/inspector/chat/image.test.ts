import { expect, test } from 'vitest'
import { fitWithin, imageType } from './image.ts'

test('the type of an image is detected from its first bytes', () => {
  expect(imageType(btoa('\x89PNG\r\n\x1a\n and so on'))).toBe('image/png')
  expect(imageType(btoa('\xff\xd8\xff\xe0JFIF'))).toBe('image/jpeg')
  expect(imageType(btoa('GIF89a!'))).toBe('image/gif')
  expect(imageType(btoa('RIFF\n\0\0\0WEBPVP8'))).toBe('image/webp')
  expect(imageType(btoa('<svg onload="x">'))).toBeUndefined()
  expect(imageType(btoa(''))).toBeUndefined()
})

test('a large image is shrunk and keeps its aspect ratio', () => {
  expect(fitWithin(3136, 1568, 1568)).toEqual({ width: 1568, height: 784 })
  expect(fitWithin(100, 40, 1568)).toEqual({ width: 100, height: 40 })
  expect(fitWithin(10_000, 1, 1568)).toEqual({ width: 1568, height: 1 })
})
