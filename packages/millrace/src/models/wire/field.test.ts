import { expect, test } from 'vitest'
import { field } from './field.ts'

test('a frame has only the fields that were sent', () => {
  const frame = JSON.parse('{"type":"ping","error":null}')
  expect(field(frame, 'type')).toBe('ping')
  expect(field(frame, 'error')).toBeNull()
  expect(field(frame, 'delta')).toBeUndefined()
  expect(field(frame, 'constructor')).toBeUndefined()
})
