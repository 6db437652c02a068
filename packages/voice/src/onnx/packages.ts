import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { invalidInput } from 'millrace/internal'

/**
 * The files needed of each. Weights are not in the packages' `exports`, so no resolver finds them.
 */
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
 * The paths of the needed files, by package. Throws `invalid_input` if any package is missing, with
 * the command that installs them. `from` is the file that needs them.
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
  const hint = missing.some((name) => name !== 'onnxruntime-node' && name !== 'llama-tokenizer-js')
    ? `. Only the weights of some packages are used: to save 490 MB of unused dependencies, add ` +
      `"overrides": ${JSON.stringify(overrides)} to your package.json`
    : ''
  return `packages that are not installed: npm install ${names}${hint}`
}
