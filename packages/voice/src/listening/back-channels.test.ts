import { describe, expect, test } from 'vitest'
import { backChannel, backChannels } from './back-channels.ts'

const all = backChannel(Object.values(backChannels).flat())

describe('back-channel phrases', () => {
  test.each([
    'Uh-huh.',
    'Mm-hmm',
    'Mmm, hmmm.',
    'M. M. H. M..',
    'YEAH!',
    'Yeah, yeah, okay.',
    'yeaaah okaaay',
    'I see.',
    'Oh, I see. Right.',
    'That’s right.',
    "that's right",
    'Ja, genau!',
    'Ach so, verstehe.',
    "D'accord, très bien.",
    'Tres bien',
    'Sí, claro.',
    'Va bene, ho capito.',
    'Tá bom, entendi.',
    'Oké, ga door.',
    'はい、はい。',
    'あー、なるほどね',
    'うんうん、そうですね。',
    '嗯，对对对。',
    '好的，明白了',
  ])('%s', (text) => {
    expect(all.matches(text)).toBe(true)
    expect(all.classifyPartial(text)).toBe('harmless')
  })
})

describe('other text', () => {
  test.each([
    '',
    '…',
    'Stop.',
    'No.',
    'Yeah, but I wanted the blue one.',
    'Okay, stop',
    'I see a problem',
    'right now',
    '42',
    'Ja, aber das stimmt nicht.',
    'Non.',
    'はい、でも違います',
    '不对',
  ])('%s', (text) => {
    expect(all.matches(text)).toBe(false)
  })
})

test('the last word of cut-off text counts little', () => {
  const { classifyPartial } = backChannel(backChannels.en)
  for (const text of ['I', 'Ye', 'Yeah, ok', 'Okay, go', 'Oh, that’s ri', 'Yeah, for'])
    expect(classifyPartial(text)).toBe('harmless')
  for (const text of ['', '…', 'Stop', 'Bro', 'I wan', 'go away'])
    expect(classifyPartial(text)).toBe('unsure')
  for (const text of ['Stop that', 'I want a', 'Yeah, but no', 'No, no'])
    expect(classifyPartial(text)).toBe('intended')
})

test('custom phrases replace the built-in ones', () => {
  const { matches } = backChannel(['roger', 'ten four'])
  expect(matches('Roger, ten-four.')).toBe(true)
  expect(matches('Yeah.')).toBe(false)
  expect(backChannel([]).matches('yeah')).toBe(false)
})

test('each list matches all of its own phrases', () => {
  for (const phrases of Object.values(backChannels)) {
    const { matches } = backChannel(phrases)
    for (const phrase of phrases)
      expect([phrase, matches(`${phrase.toUpperCase()}!`)]).toEqual([phrase, true])
  }
})
