import { expect, test } from 'vitest'
import { readExport } from './read-export.ts'
import type { ExportedThread } from './thread-export.ts'
import { exportMark, fillThreadHtml } from './thread-html.ts'
import { noUsage } from './usage.ts'

const template = `<!doctype html><meta name="date" content="{{date}}"><title>{{title}}</title>
<p>{{day}}</p>${exportMark}{{export}}</script><script>"{{other}}"</script>`

const at = Date.UTC(2026, 10, 18, 9, 5)

function exportWith(text: string): ExportedThread {
  return {
    version: 2,
    messages: [{ role: 'user', content: text }],
    thread: { id: 'mine', agent: 'desk', title: text, createdAt: 1, updatedAt: 2 },
    usage: noUsage,
    entries: [
      { seq: 1, at: 1, event: { type: 'input', message: { role: 'user', content: text }, mode: 'queue' } },
    ],
  }
}

test.each([
  'hello',
  '</script><script>alert(1)</script>',
  '<!-- <script> -->',
  `${exportMark}{"version":2}</script>`,
  '{{export}} {{title}} $& $1',
  '\u001b[31m \u009b2J \u202e \u2028 \ud800 \0 "quoted" & \\u003c',
])('a thread with %j is read back from JSON and from HTML', (text) => {
  const exported = exportWith(text)
  const html = fillThreadHtml(template, exported, at)
  expect(readExport(html)).toEqual(exported)
  expect(readExport(`\ufeff${JSON.stringify(exported, undefined, 2)}\n`)).toEqual(exported)
  // Nothing but the template's own markup, and nothing that a terminal would interpret.
  const tags = (text: string) => text.match(/<[^>]*>?/g)
  expect(tags(html)).toEqual(tags(fillThreadHtml(template, exportWith(''), at)))
  expect(html.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Bidi_Control}|\u2028/u)
})

test('the page for an export has its title and the time of the export', () => {
  const html = fillThreadHtml(template, exportWith('Ann & <Bob>\n"x"'), at)
  expect(html).toContain('<title>Ann &#38; &#60;Bob&#62; &#34;x&#34;</title>')
  expect(html).toContain('content="2026-11-18T09:05:00.000Z"')
  expect(html).toContain('<p>2026-11-18 09:05 UTC</p>')
  const { title: _, ...untitled } = exportWith('').thread
  expect(fillThreadHtml(template, { ...exportWith(''), thread: untitled }, 0)).toContain(
    '<title>mine</title>',
  )
})

test.each([
  ['', 'the file is empty'],
  [' \n', 'the file is empty'],
  ['# Thread mine', 'neither JSON nor HTML'],
  ['{"seq":1}\n{"seq":2}', 'neither JSON nor HTML'],
  ['<p>hello</p>', 'contains no exported thread'],
  [`${exportMark}{"version":2}`, 'contains no exported thread'],
  [`${exportMark}{"version":</script>`, 'neither JSON nor HTML'],
  ['7', 'not an exported thread'],
  ['{"messages":[]}', 'not an exported thread'],
  ['{"version":2,"messages":[]}', 'without its log'],
  ['{"version":2,"entries":[]}', 'without its log'],
  ['{"version":99,"thread":{},"entries":[]}', 'update millrace'],
])('%j is rejected', (text, problem) => {
  expect(() => readExport(text)).toThrow(
    expect.objectContaining({ code: 'invalid_input', message: expect.stringContaining(problem) }),
  )
})
