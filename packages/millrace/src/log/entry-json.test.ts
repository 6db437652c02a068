import { expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { entryJson, eventJson, rememberJson } from './entry-json.ts'

const entryOf = (more: Partial<Entry> = {}): Entry => ({
  seq: 7,
  at: 1_700_000_000_000,
  event: { type: 'text', id: 't', text: 'a "quoted"\n word' } as unknown as Entry['event'],
  ...more,
})

test('a remembered text is used instead of the event', () => {
  const entry = entryOf()
  rememberJson(entry, '{"type":"stop"}')
  expect(eventJson(entry)).toBe('{"type":"stop"}')
  expect(entryJson(entry)).toBe('{"seq":7,"at":1700000000000,"event":{"type":"stop"}}')
})

test('the JSON is the same whether it is remembered or made', () => {
  for (const entry of [entryOf(), { ...entryOf(), from: 3, seq: 9 }]) {
    const made = [JSON.parse(entryJson(entry)), eventJson(entry)]
    rememberJson(entry, JSON.stringify(entry.event))
    expect([JSON.parse(entryJson(entry)), eventJson(entry)]).toEqual(made)
  }
})

test('nothing sees that an entry has a text: no JSON, copy or comparison', () => {
  const entry = entryOf()
  rememberJson(entry, '{"type":"stop"}')
  expect(entry).toStrictEqual(entryOf())
  expect(Reflect.ownKeys(entry)).toEqual(['seq', 'at', 'event'])
  expect(JSON.stringify(entry)).toBe(JSON.stringify(entryOf()))
  for (const copy of [{ ...entry }, structuredClone(entry)])
    expect(eventJson(copy)).toBe(JSON.stringify(entry.event))
})
