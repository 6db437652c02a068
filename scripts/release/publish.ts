import semver from 'semver'
import { assertPublishable, withTarballs } from './pack.ts'
import { run, show } from './run.ts'
import { publishOrder, readPackages, versionOf } from './workspace.ts'

/** A prerelease gets the tag `next`, so `npm install millrace` still installs the last release. */
export function publishArguments(tarball: string, version: string, provenance = true): string[] {
  const options = ['--access', 'public', '--tag', semver.prerelease(version) ? 'next' : 'latest']
  return ['publish', tarball, ...options, ...(provenance ? ['--provenance'] : [])]
}

function isPublished(spec: string, root: string): boolean {
  try {
    return run('npm', ['view', spec, 'version'], root) !== ''
  } catch (error) {
    if (error instanceof Error && /\bE404\b/.test(error.message)) return false
    throw error
  }
}

/**
 * Publishes the packages of the tagged commit, which must be checked out and built. Packages that are
 * already published are skipped, so a release that failed halfway can be repeated.
 */
export async function publish(root: string, { provenance }: { readonly provenance: boolean }): Promise<void> {
  const packages = publishOrder(readPackages(root))
  const version = versionOf(packages)
  if (!run('git', ['tag', '--points-at', 'HEAD'], root).split('\n').includes(`v${version}`))
    throw new Error(`This commit does not have the tag v${version}: run npm run release first.`)
  if (run('git', ['status', '--porcelain'], root) !== '')
    throw new Error(`The working tree has changes: publish the commit of v${version} unchanged.`)
  await withTarballs(root, packages, async (tarballs) => {
    await assertPublishable(tarballs)
    for (const { package: one, file } of tarballs) {
      const spec = `${one.manifest.name}@${version}`
      if (isPublished(spec, root)) console.log(`${spec} is already published.`)
      else show('npm', publishArguments(file, version, provenance), root)
    }
  })
}
