import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { onnxFiles } from './packages.ts'

const all = [
  'onnxruntime-node',
  '@ricky0123/vad-web',
  '@moonshine-ai/moonshine-js',
  'llama-tokenizer-js',
] as const
const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const { peerDependencies } = read('../../package.json')

/** A folder with some packages installed, and a file in it that needs them. */
function project(...files: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-onnx-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const file of files) {
    mkdirSync(join(folder, 'node_modules', dirname(file)), { recursive: true })
    writeFileSync(join(folder, 'node_modules', file), '')
  }
  return pathToFileURL(join(folder, 'main.js')).href
}

test('finds weights in the installed packages', () => {
  const found = onnxFiles({ op: 'listener', needs: all })
  expect(found['@ricky0123/vad-web']).toEqual([expect.stringMatching(/silero_vad_v6\.onnx$/)])
  expect(found['@moonshine-ai/moonshine-js']).toEqual([
    expect.stringMatching(/encoder_model\.onnx$/),
    expect.stringMatching(/decoder_model_merged\.onnx$/),
  ])
})

test('the error names one command that installs everything missing', () => {
  expect(() => onnxFiles({ op: 'listener', needs: all }, project())).toThrow(
    expect.objectContaining({
      code: 'invalid_input',
      message:
        'listener() needs packages that are not installed: npm install onnxruntime-node@1 @ricky0123/vad-web@0.0.31 ' +
        '@moonshine-ai/moonshine-js@0.1 llama-tokenizer-js@1. Only the weights of some packages are used: ' +
        'to save 490 MB of unused dependencies, add "overrides": ' +
        '{"@huggingface/transformers":"npm:onnxruntime-common@1.30.0","onnxruntime-web":"npm:onnxruntime-common@1.30.0"} ' +
        'to your package.json',
    }),
  )
})

test('does not ask for installed packages, and a package without its weights is missing', () => {
  const from = project(
    'onnxruntime-node/package.json',
    '@ricky0123/vad-web/package.json',
    '@moonshine-ai/moonshine-js/dist/model/tiny/quantized/encoder_model.onnx',
    '@moonshine-ai/moonshine-js/dist/model/tiny/quantized/decoder_model_merged.onnx',
  )
  expect(() => onnxFiles({ op: 'listener', needs: all }, from)).toThrow(
    /npm install @ricky0123\/vad-web@0\.0\.31 llama-tokenizer-js@1\. Only/,
  )
  const needs = ['onnxruntime-node', 'llama-tokenizer-js'] as const
  expect(() => onnxFiles({ op: 'moonshine', needs }, from)).toThrow(/npm install llama-tokenizer-js@1$/)
})

test('the named versions and overrides are those tested in this repository', () => {
  const thrown = (() => {
    try {
      return onnxFiles({ op: 'listener', needs: all }, project())
    } catch (error) {
      return (error as Error).message
    }
  })()
  for (const name of all) {
    const [, version] = new RegExp(`${name}@([0-9.]*[0-9])`).exec(String(thrown)) ?? []
    expect(`${peerDependencies[name].slice(1)}.`).toMatch(new RegExp(`^${version}\\.`))
  }
  const overrides = JSON.parse(/\{.*\}/.exec(String(thrown))?.[0] ?? '')
  expect(read('../../../../package.json').overrides).toMatchObject(overrides)
})
