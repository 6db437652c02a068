import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Problem } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { run } from './run.ts'
import type { Package } from './workspace.ts'

export interface Tarball {
  readonly package: Package
  readonly file: string
  /** In bytes, packed. */
  readonly size: number
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

/** Packs each package once, in a temporary folder that is deleted after `use`. */
export async function withTarballs<Result>(
  root: string,
  packages: readonly Package[],
  use: (tarballs: readonly Tarball[]) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-pack-'))
  try {
    const workspaces = packages.flatMap(({ path }) => ['--workspace', path])
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, ...workspaces]
    // A list up to npm 11, an object by package name since npm 12.
    const results = Object.values<PackResult>(JSON.parse(run('npm', args, root)))
    return await use(
      packages.map((one) => {
        const result = results.find(({ name }) => name === one.manifest.name)
        if (!result) throw new Error(`npm did not pack ${one.manifest.name}.`)
        const { filename, size, files } = result
        return { package: one, file: join(folder, filename), size, files }
      }),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface PackResult extends Pick<Tarball, 'size' | 'files'> {
  readonly name: string
  readonly filename: string
}

/** Throws if a package cannot be published. */
export async function assertPublishable(tarballs: readonly Tarball[]): Promise<void> {
  const problems = await tarballProblems(tarballs)
  if (problems.length > 0) throw new Error(`The packages cannot be published:\n${problems.join('\n')}`)
}

/** What publint and attw find wrong with packed packages, one line for each problem. */
export async function tarballProblems(tarballs: readonly Tarball[]): Promise<string[]> {
  return (await Promise.all(tarballs.map(problemsOf))).flat()
}

async function problemsOf({ package: { manifest }, file }: Tarball): Promise<string[]> {
  const bytes = new Uint8Array(readFileSync(file))
  const { messages, pkg } = await publint({ strict: true, pack: { tarball: bytes.buffer } })
  const linted = messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code)
  // Imported on demand: it includes a compiler, which is slow to load.
  const { checkPackage, createPackageFromTarballData } = await import('@arethetypeswrong/core')
  const checked = await checkPackage(createPackageFromTarballData(bytes))
  const typed = checked.types ? checked.problems.filter(concernsUs).map(describe) : ['It has no types.']
  return [...linted, ...typed].map((problem) => `${manifest.name}: ${problem}`)
}

/** The packages are ESM for Node 22.13 and later, where `require()` loads ESM. `node10` ignores `exports`. */
function concernsUs(problem: Problem): boolean {
  if (problem.kind === 'CJSResolvesToESM') return false
  return !('resolutionKind' in problem && problem.resolutionKind === 'node10')
}

function describe(problem: Problem): string {
  const { kind, ...details } = problem
  const place = 'entrypoint' in details ? `${details.entrypoint} (${details.resolutionKind})` : undefined
  return `${kind} ${place ?? JSON.stringify(details)}`
}
