import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { searchText, searchWords } from './search.ts'

function finds(search: string, thread: Partial<Parameters<typeof searchText>[0]> = {}): boolean {
  const text = searchText({ id: 'thread_42', agent: 'Desk', ...thread })
  return searchWords(search).every((word) => text.includes(word))
}

describe('a search', () => {
  it('finds words anywhere in title, id, agent and the values of the metadata', () => {
    const thread = {
      title: 'Where is my order?',
      metadata: { customer: { name: 'Ada', age: 36 }, tags: ['vip', true, null] },
    }
    for (const search of [
      'order',
      'rde',
      '_42',
      'desk',
      'Ada',
      '36',
      'vip',
      'true',
      ' order\n ada  42 ',
      'is is',
    ])
      expect(finds(search, thread), search).toBe(true)
    for (const search of ['orders', 'order bob', 'customer', 'name', 'null', 'ada36', 'order?thread'])
      expect(finds(search, thread), search).toBe(false)
  })

  it.each([
    ['ORDER', 'order'],
    ['straße', 'STRASSE'],
    ['ΟΔΟΣ', 'οδος'],
    ['οδοσα', 'οδος'],
    ['ДОМ', 'дом'],
    ['caf\u00e9', 'CAFE\u0301'],
    ['Ångström', '\u212bngstro\u0308m'],
  ])('finds %s by %s', (one, other) => {
    expect(finds(other, { title: `x ${one}y` })).toBe(true)
  })

  it('treats every character literally', () => {
    for (const search of ['%', '_%', "'", '"', '\\', '\0', '\ud83d', '\udc00', '.*', '😀', '\uffff'])
      for (const title of ['plain', `it ${search} is`])
        expect(finds(search, { id: 'x', title }), `${search} in ${title}`).toBe(title !== 'plain')
    expect(finds('\ud83d', { title: '\ud83e 😀' })).toBe(false)
    expect(finds('zd83d', { title: '\ud83d' })).toBe(false)
    expect(finds('e', { title: 'caf\u00e9', agent: 'A', id: 'A' })).toBe(false)
  })

  it('produces text that any database can store', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (title, id) => {
        const text = searchText({ title: `${title}\ud800\0`, id, agent: 'a', metadata: { title: [id] } })
        expect(text.isWellFormed() && !text.includes('\0')).toBe(true)
        expect(finds(title, { title: `a ${title} b` })).toBe(true)
      }),
    )
  })

  it('searches metadata at any depth', () => {
    let metadata = { deepest: 'needle' } as object
    for (let depth = 0; depth < 20_000; depth++) metadata = { metadata }
    expect(finds('needle', { metadata: metadata as never })).toBe(true)
  })
})
