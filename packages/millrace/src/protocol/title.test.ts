import { describe, expect, it } from 'vitest'
import type { InputEvent, UserMessage } from './index.ts'
import { titleOf } from './title.ts'

function input(content: UserMessage['content'], mode: InputEvent['mode'] = 'queue') {
  return { event: { type: 'input', mode, message: { role: 'user', content } } as const }
}

describe('the title of a thread', () => {
  it.each<[what: string, content: UserMessage['content'], title: string | undefined]>([
    ['its text', 'Where is my order?', 'Where is my order?'],
    ['on one line', '  Where\r\n\tis \u00a0\u2003 it?\n', 'Where is it?'],
    [
      'the text of all parts',
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
      'an image if the text is blank',
      parts(' \n', { type: 'image', url: 'https://x.test/i.png' }),
      '[image]',
    ],
    ['nothing', ' \n ', undefined],
    ['the whole text up to the limit', 'x'.repeat(120), 'x'.repeat(120)],
    ['the start of a longer text', 'x'.repeat(121), `${'x'.repeat(119)}…`],
    ['the start of a very long text', 'y'.repeat(1_000_000), `${'y'.repeat(119)}…`],
    ['text without a space before the cut', `${'x'.repeat(118)} more`, `${'x'.repeat(118)}…`],
    ['never half a surrogate pair', `${'x'.repeat(118)}😀😀`, `${'x'.repeat(118)}…`],
    ['a whole surrogate pair', `${'x'.repeat(117)}😀😀`, `${'x'.repeat(117)}😀…`],
    [
      'a long file name, cut',
      parts({ type: 'file', data: '', mediaType: 'a/b', name: 'n'.repeat(200) }),
      `[file: ${'n'.repeat(112)}…`,
    ],
  ])('is %s', (_, content, title) => {
    expect(titleOf([input(content)])).toBe(title)
  })

  it('comes from the first user message with content', () => {
    const entries = [
      { event: { type: 'stop', reason: 'first' } } as const,
      input('try again', 'correct'),
      input('   '),
      input('Hello', 'interrupt'),
      input('Goodbye'),
    ]
    expect(titleOf(entries)).toBe('Hello')
    expect(titleOf(entries.slice(0, 3))).toBeUndefined()
  })
})

function parts(...all: readonly (string | Exclude<UserMessage['content'], string>[number])[]) {
  return all.map((part) => (typeof part === 'string' ? ({ type: 'text', text: part } as const) : part))
}
