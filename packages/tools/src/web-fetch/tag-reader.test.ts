import { expect, test } from 'vitest'
import { tagReader } from './tag-reader.ts'

/** Reads a page and returns its depth and the number of flat elements. */
function read(html: string) {
  let [depth, deepest, opened, flat] = [0, 0, 0, 0]
  const reader = tagReader(html, {
    open(_, __, isFlat) {
      opened++
      if (isFlat) flat++
      else deepest = Math.max(deepest, depth + 1)
      depth++
    },
    close() {
      depth--
    },
    text() {},
  })
  reader.readTo(html.length)
  reader.end()
  return { depth, deepest, opened, flat }
}

test('nesting is limited, and every element is closed', () => {
  const html = '<div>'.repeat(1000)
  expect(read(html)).toEqual({ depth: 0, deepest: 128, opened: 1000, flat: 872 })
})

test('void elements are not flat at any depth', () => {
  const { flat } = read(`${'<div>'.repeat(128)}<img><br></br></p><script>x</script><title>y</title>`)
  expect(flat).toBe(0)
})

test('an incomplete tag at the end is ignored', () => {
  expect(read('<div><p class="a')).toMatchObject({ depth: 0, opened: 1 })
})

test('reading in chunks gives the same result', () => {
  const html = '<p title="a&amp;b">c&lt;d</p><!-- e --><script>f</script><ul><li>g<li>&eacute;</ul>'
  const whole: unknown[] = []
  const recorder = (list: unknown[]) => ({
    open: (name: string, attributes: object) => void list.push([name, { ...attributes }]),
    close: () => void list.push('close'),
    text: (data: string) => void list.push(data),
  })
  const one = tagReader(html, recorder(whole))
  one.readTo(html.length)
  one.end()
  expect(whole).toContainEqual(['p', { title: 'a&b' }])
  for (const step of [1, 2, 7]) {
    const pieces: unknown[] = []
    const reader = tagReader(html, recorder(pieces))
    for (let at = 0; at < html.length; at += step) reader.readTo(at + step)
    reader.end()
    expect(pieces, String(step)).toEqual(whole)
  }
})
