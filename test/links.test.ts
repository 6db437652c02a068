import { expect, test } from 'vitest'
import { anchorsOf, linkFaults } from './links.ts'

const faults = (source: string, others: Record<string, string> = {}) => {
  const docs = new Map(Object.entries({ 'docs/GUIDE.md': source, ...others }))
  return linkFaults('docs/GUIDE.md', docs, (path) => docs.has(path) || path === 'docs' || path === 'LICENSE')
}

test('a link to a file that exists is sound, and one to a file that does not is named with its place', () => {
  expect(faults('See [the license](../LICENSE), [us](GUIDE.md) and [the folder](../docs).')).toEqual([])
  expect(faults('One\n\n[two](./TWO.md "title") and ![three](<img/three.png>)')).toEqual([
    'docs/GUIDE.md:3 links to ./TWO.md: there is no docs/TWO.md',
    'docs/GUIDE.md:3 links to img/three.png: there is no docs/img/three.png',
  ])
  expect(faults('[two]: TWO.md')).toHaveLength(1)
  expect(faults('<a href="TWO.md">two</a>')).toHaveLength(1)
  expect(faults('[out](../../elsewhere.md)')).toEqual([
    'docs/GUIDE.md:1 links to ../../elsewhere.md: it leaves the project',
  ])
})

test('links to other sites, and what only looks like a link inside code, are left alone', () => {
  expect(faults('[a](https://example.com/x.md) <b@example.com> [c](mailto:c@example.com)')).toEqual([])
  expect(faults('Write `[text](path.md)`.\n\n```text\n[text](path.md)\n```\n')).toEqual([])
})

test('an anchor leads to a heading, here or in another document', () => {
  const protocol = '# Events\n\n## `run-end`: the last, always\n\n## Why?\n\n## Why?\n'
  const other = { 'docs/PROTOCOL.md': protocol }
  expect(faults('# A part\n[here](#a-part) [there](PROTOCOL.md#run-end-the-last-always)', other)).toEqual([])
  expect(faults('[again](PROTOCOL.md#why-1) [code](../LICENSE#L3)', other)).toEqual([])
  expect(faults('[no](#nowhere) [no](PROTOCOL.md#nowhere)', other)).toEqual([
    'docs/GUIDE.md:1 links to #nowhere: there is no heading #nowhere in docs/GUIDE.md',
    'docs/GUIDE.md:1 links to PROTOCOL.md#nowhere: there is no heading #nowhere in docs/PROTOCOL.md',
  ])
})

test('anchors are spelled as GitHub spells them', () => {
  const source =
    '# The `tool_call` event & its *kin* — [see](x.md)\n```sh\n# not a heading\n```\n<a id="by-hand"></a>'
  expect([...anchorsOf(source)]).toEqual(['the-tool_call-event--its-kin--see', 'by-hand'])
})

test('links to this repository on GitHub are followed like relative ones', () => {
  const page = (path: string) => `[x](https://github.com/millrace/millrace/blob/main/${path})`
  const other = { 'docs/PROTOCOL.md': '# Events' }
  expect(faults(page('docs/PROTOCOL.md#events'), other)).toEqual([])
  const href = 'https://github.com/millrace/millrace/blob/main/docs'
  expect(faults(`${page('docs/PROTOCOL.md#none')} ${page('docs/NONE.md')}`, other)).toEqual([
    `docs/GUIDE.md:1 links to ${href}/PROTOCOL.md#none: there is no heading #none in docs/PROTOCOL.md`,
    `docs/GUIDE.md:1 links to ${href}/NONE.md: there is no docs/NONE.md`,
  ])
})
