import { readFileSync } from 'node:fs'

/** The version of the package. What is built lies two folders below its manifest, as the sources do. */
export function readVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return JSON.parse(manifest).version
}
