import { expect, test } from 'vitest'
import { anchorsOf, linkFaults } from './links.ts'

const faults = (source: string, others: Record<string, string> = {}) => {
  const docs = new Map(Object.entries({ 'docs/GUIDE.md': source, ...others }))
  return linkFaults('docs/GUIDE.md', docs, (path) => docs.has(path) || path === 'docs' || path === 'LICENSE')
}

test('a link to a missing file is reported with its line', () => {
  expect(faults('See [the license](../LICENSE), [us](GUIDE.md) and [the folder](../docs).')).toEqual([])
  expect(faults('One\n\n[two](./TWO.md "title") and ![three](<img/three.png>)')).toEqual([
    'docs/GUIDE.md:3 links to ./TWO.md: docs/TWO.md does not exist',
    'docs/GUIDE.md:3 links to img/three.png: docs/img/three.png does not exist',
  ])
  expect(faults('[two]: TWO.md')).toHaveLength(1)
  expect(faults('<a href="TWO.md">two</a>')).toHaveLength(1)
  expect(faults('[out](../../elsewhere.md)')).toEqual([
    'docs/GUIDE.md:1 links to ../../elsewhere.md: it leaves the project',
  ])
})

test('links to other sites and links in code are ignored', () => {
  expect(faults('[a](https://example.com/x.md) <b@example.com> [c](mailto:c@example.com)')).toEqual([])
  expect(faults('Write `[text](path.md)`.\n\n```text\n[text](path.md)\n```\n')).toEqual([])
})

test('an anchor must match a heading, here or in another document', () => {
  const protocol = '# Events\n\n## `run-end`: the last, always\n\n## Why?\n\n## Why?\n'
  const other = { 'docs/PROTOCOL.md': protocol }
  expect(faults('# A part\n[here](#a-part) [there](PROTOCOL.md#run-end-the-last-always)', other)).toEqual([])
  expect(faults('[again](PROTOCOL.md#why-1) [code](../LICENSE#L3)', other)).toEqual([])
  expect(faults('[no](#nowhere) [no](PROTOCOL.md#nowhere)', other)).toEqual([
    'docs/GUIDE.md:1 links to #nowhere: docs/GUIDE.md has no heading #nowhere',
    'docs/GUIDE.md:1 links to PROTOCOL.md#nowhere: docs/PROTOCOL.md has no heading #nowhere',
  ])
})

test('anchors are spelled as on GitHub', () => {
  const source =
    '# The `tool_call` event & its *kin* — [see](x.md)\n```sh\n# not a heading\n```\n<a id="by-hand"></a>'
  expect([...anchorsOf(source)]).toEqual(['the-tool_call-event--its-kin--see', 'by-hand'])
})

test('links to this repository on GitHub are checked like relative ones', () => {
  const page = (path: string) => `[x](https://github.com/millrace/millrace/blob/main/${path})`
  const other = { 'docs/PROTOCOL.md': '# Events' }
  expect(faults(page('docs/PROTOCOL.md#events'), other)).toEqual([])
  const href = 'https://github.com/millrace/millrace/blob/main/docs'
  expect(faults(`${page('docs/PROTOCOL.md#none')} ${page('docs/NONE.md')}`, other)).toEqual([
    `docs/GUIDE.md:1 links to ${href}/PROTOCOL.md#none: docs/PROTOCOL.md has no heading #none`,
    `docs/GUIDE.md:1 links to ${href}/NONE.md: docs/NONE.md does not exist`,
  ])
})
