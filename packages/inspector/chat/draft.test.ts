import { expect, test } from 'vitest'
import { type Attachment, bytesOf, draftFrom, isEmpty, messageOf } from './draft.ts'

const image: Attachment = { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' }

test('text is sent as a string, and with an image as parts', () => {
  expect(messageOf({ text: 'Hi', attachments: [] })).toBe('Hi')
  expect(messageOf({ text: 'Hi', attachments: [image] })).toEqual({
    role: 'user',
    content: [{ type: 'text', text: 'Hi' }, image],
  })
  expect(messageOf({ text: ' ', attachments: [image] })).toEqual({ role: 'user', content: [image] })
})

test('an edited message keeps its attachments', () => {
  const file: Attachment = {
    type: 'file',
    mediaType: 'text/plain',
    name: 'a.txt',
    url: 'https://example.com/a',
  }
  const content = [{ type: 'text', text: 'One' } as const, image, file]
  expect(draftFrom({ role: 'user', content })).toEqual({ text: 'One', attachments: [image, file] })
  expect(draftFrom({ role: 'user', content: 'One' })).toEqual({ text: 'One', attachments: [] })
})

test('a draft of whitespace is empty', () => {
  expect(isEmpty({ text: ' \n', attachments: [] })).toBe(true)
  expect(isEmpty({ text: '', attachments: [image] })).toBe(false)
})

test('the size is that of the request body in bytes', () => {
  expect(bytesOf({ text: 'ä"', attachments: [] })).toBe(2 + 2 + 2)
  const message = { role: 'user', content: [image] }
  expect(bytesOf({ text: '', attachments: [image] })).toBe(JSON.stringify(message).length)
})
