import { describe, expect, it } from 'vitest'
import type { InputEvent, UserMessage } from './index.ts'
import { titleOf } from './title.ts'

function said(content: UserMessage['content'], mode: InputEvent['mode'] = 'queue') {
  return { event: { type: 'input', mode, message: { role: 'user', content } } as const }
}

describe('the title of a thread', () => {
  it.each<[what: string, content: UserMessage['content'], title: string | undefined]>([
    ['its words', 'Where is my order?', 'Where is my order?'],
    ['on one line', '  Where\r\n\tis \u00a0\u2003 it?\n', 'Where is it?'],
    [
      'the words of all parts',
      parts('Look', { type: 'image', url: 'https://x.test/i.png' }, ' here'),
      'Look here',
    ],
    ['an image', parts({ type: 'image', data: 'AA==', mediaType: 'image/png' }), '[image]'],
    [
      'a file',
      parts({ type: 'file', data: 'AA==', mediaType: 'text/plain', name: 'a\nb.txt' }),
      '[file: a b.txt]',
    ],
    ['a file without a name', parts({ type: 'file', data: 'AA==', mediaType: 'text/plain' }), '[file]'],
    [
      'an image where the words are empty',
      parts(' \n', { type: 'image', url: 'https://x.test/i.png' }),
      '[image]',
    ],
    ['nothing', ' \n ', undefined],
    ['as much as may be', 'x'.repeat(120), 'x'.repeat(120)],
    ['the beginning of more', 'x'.repeat(121), `${'x'.repeat(119)}…`],
    ['the beginning of very much', 'y'.repeat(1_000_000), `${'y'.repeat(119)}…`],
    ['words without a space before the cut', `${'x'.repeat(118)} more`, `${'x'.repeat(118)}…`],
    ['no half of a pair', `${'x'.repeat(118)}😀😀`, `${'x'.repeat(118)}…`],
    ['a whole pair', `${'x'.repeat(117)}😀😀`, `${'x'.repeat(117)}😀…`],
    [
      'a long name, cut',
      parts({ type: 'file', data: '', mediaType: 'a/b', name: 'n'.repeat(200) }),
      `[file: ${'n'.repeat(112)}…`,
    ],
  ])('is %s', (_, content, title) => {
    expect(titleOf([said(content)])).toBe(title)
  })

  it('is that of the first thing that a person said', () => {
    const entries = [
      { event: { type: 'stop', reason: 'first' } } as const,
      said('try again', 'correct'),
      said('   '),
      said('Hello', 'interrupt'),
      said('Goodbye'),
    ]
    expect(titleOf(entries)).toBe('Hello')
    expect(titleOf(entries.slice(0, 3))).toBeUndefined()
  })
})

function parts(...all: readonly (string | Exclude<UserMessage['content'], string>[number])[]) {
  return all.map((part) => (typeof part === 'string' ? ({ type: 'text', text: part } as const) : part))
}
