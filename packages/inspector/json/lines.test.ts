import fc from 'fast-check'
import { expect, it } from 'vitest'
import { linesOf } from './lines.ts'

it('text is split at line feeds', () => {
  expect(linesOf('a\n\nb')).toEqual(['a', '', 'b'])
  expect(linesOf('a\n')).toEqual(['a', ''])
  expect(linesOf('')).toEqual([''])
})

it('long lines are split, but never inside a character', () => {
  const lines = linesOf(`x${'🦀'.repeat(1200)}\nnext`)
  expect(lines.at(-1)).toBe('next')
  expect(lines.length).toBe(3)
  expect(lines.every((line) => line.isWellFormed())).toBe(true)
})

it('no characters are lost', () => {
  const piece = fc.oneof(fc.string({ unit: 'binary' }), fc.constant('\n'), fc.constant('🦀'.repeat(700)))
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join('')
      expect(linesOf(text).join('')).toBe(text.replaceAll('\n', ''))
    }),
  )
})
