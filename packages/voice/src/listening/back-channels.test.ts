import { describe, expect, test } from 'vitest'
import { backChannel, backChannels } from './back-channels.ts'

const all = backChannel(Object.values(backChannels).flat())

describe('what only shows that somebody listens', () => {
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
    expect(all.is(text)).toBe(true)
    expect(all.soFar(text)).toBe('harmless')
  })
})

describe('what is meant', () => {
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
    expect(all.is(text)).toBe(false)
  })
})

test('of text that was cut off the last word says little', () => {
  const { soFar } = backChannel(backChannels.en)
  for (const text of ['I', 'Ye', 'Yeah, ok', 'Okay, go', 'Oh, that’s ri', 'Yeah, for'])
    expect(soFar(text)).toBe('harmless')
  for (const text of ['', '…', 'Stop', 'Bro', 'I wan', 'go away']) expect(soFar(text)).toBe('unsure')
  for (const text of ['Stop that', 'I want a', 'Yeah, but no', 'No, no']) expect(soFar(text)).toBe('meant')
})

test('phrases of one’s own take the place of those that are known', () => {
  const { is } = backChannel(['roger', 'ten four'])
  expect(is('Roger, ten-four.')).toBe(true)
  expect(is('Yeah.')).toBe(false)
  expect(backChannel([]).is('yeah')).toBe(false)
})

test('no list has a phrase that another spelling of its own language refuses', () => {
  for (const phrases of Object.values(backChannels)) {
    const { is } = backChannel(phrases)
    for (const phrase of phrases) expect([phrase, is(`${phrase.toUpperCase()}!`)]).toEqual([phrase, true])
  }
})
