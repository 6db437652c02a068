import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The installed version of a package, found as Node finds it from here; undefined if it is not there. */
export function versionOf(name: string): string | undefined {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const manifest = readManifest(join(folder, 'node_modules', name, 'package.json'))
    if (manifest) return manifest.version
    if (folder === dirname(folder)) return undefined
  }
}

/** Our own. */
export const ownVersion = () => readManifest(join(import.meta.dirname, '../../package.json'))?.version

function readManifest(path: string): { version: string } | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
