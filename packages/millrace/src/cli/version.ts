import { readFileSync } from 'node:fs'

/** The version of the package. Both the sources and the build are two folders below package.json. */
export function readVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return JSON.parse(manifest).version
}
