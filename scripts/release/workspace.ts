import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, string | { readonly types: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface Package {
  /** `packages/tools` */
  readonly path: string
  readonly folder: string
  readonly manifest: Manifest
}

/** The packages of a workspace, sorted by path. */
export function readPackages(root: string): Package[] {
  return readdirSync(join(root, 'packages'))
    .sort()
    .map((name) => {
      const folder = join(root, 'packages', name)
      const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      return { path: `packages/${name}`, folder, manifest }
    })
}

/** The published packages, each after its runtime dependencies. */
export function publishOrder(packages: readonly Package[]): Package[] {
  const ordered = new Set<Package>()
  const add = (one: Package) => {
    const { dependencies, peerDependencies } = one.manifest
    const needed = { ...dependencies, ...peerDependencies }
    for (const other of packages) if (other !== one && other.manifest.name in needed) add(other)
    ordered.add(one)
  }
  for (const one of packages) if (!one.manifest.private) add(one)
  return [...ordered]
}

/** All packages have the same version, and depend on exactly that version of one another. */
export function versionOf(packages: readonly Package[]): string {
  const versions = [...new Set(packages.map(({ manifest }) => manifest.version))]
  if (versions.length !== 1)
    throw new Error(
      `The packages have different versions (${versions.join(', ')}): set them to the same version.`,
    )
  return versions[0] as string
}

const dependencyFields = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']

/** The text of a package.json with a new version, also for its dependencies in the workspace. */
export function manifestAt(text: string, version: string, names: readonly string[]): string {
  return stringify(entryAt(JSON.parse(text), version, names))
}

/** The text of package-lock.json with a new version for the packages of the workspace. */
export function lockFileAt(text: string, version: string, packages: readonly Package[]): string {
  const lock = JSON.parse(text)
  const names = packages.map(({ manifest }) => manifest.name)
  for (const { path } of packages) {
    if (!lock.packages[path]) throw new Error(`package-lock.json has no entry for ${path}: run npm install.`)
    lock.packages[path] = entryAt(lock.packages[path], version, names)
  }
  return stringify(lock)
}

type Entry = Record<string, string | Record<string, string>>

function entryAt(entry: Entry, version: string, names: readonly string[]): Entry {
  const bumped: Entry = { ...entry, version }
  for (const field of dependencyFields) {
    const dependencies = entry[field]
    if (typeof dependencies !== 'object') continue
    bumped[field] = Object.fromEntries(
      Object.entries(dependencies).map(([name, range]) => [name, names.includes(name) ? version : range]),
    )
  }
  return bumped
}

/** As npm writes it. */
const stringify = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
