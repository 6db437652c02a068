import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterFile } from './clean-up.ts'

const bundles = new Map<string, Promise<string>>()

/**
 * Bundles a test program into one file, which is removed after the last test of the file. It starts
 * in half the time, and a change to the sources while tests run does not affect it.
 */
export function bundled(path: string): Promise<string> {
  const made = bundles.get(path) ?? bundle(path)
  bundles.set(path, made)
  return made
}

async function bundle(path: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-program-'))
  afterFile(() => {
    bundles.delete(path)
    rmSync(folder, { recursive: true, force: true })
  })
  const file = join(folder, `${basename(path, '.ts')}.mjs`)
  const program = await rolldown({
    input: path,
    platform: 'node',
    external: [/^node:/],
    resolve: { conditionNames: ['@millrace/source', 'module', 'node', 'default'] },
  })
  await program.write({ file, codeSplitting: false })
  await program.close()
  return file
}
