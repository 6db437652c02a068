import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changelogSection, releaseChangelog } from './changelog.ts'
import { nextVersion, type ReleaseState, releaseProblems } from './checks.ts'
import { assertPublishable, tarballProblems, withTarballs } from './pack.ts'
import { publishArguments } from './publish.ts'
import { run, show } from './run.ts'
import { lockFileAt, manifestAt, publishOrder, readPackages, versionOf } from './workspace.ts'

export interface ReleaseOptions {
  readonly root: string
  readonly wanted: string
  /** YYYY-MM-DD */
  readonly date: string
}

function readState(root: string, changelog: string): ReleaseState {
  const git = (...args: string[]) => run('git', args, root)
  const lines = (text: string) => text.split('\n').filter((line) => line !== '')
  const hasOrigin = lines(git('remote')).includes('origin')
  return {
    branch: git('branch', '--show-current') || 'no branch',
    // Without locks, git does not write the index, even in a dry run.
    changes: lines(git('--no-optional-locks', 'status', '--porcelain')),
    head: git('rev-parse', 'HEAD'),
    // Unlike `git fetch`, this changes nothing locally.
    originHead: hasOrigin ? git('ls-remote', 'origin', 'refs/heads/main').split('\t')[0] : undefined,
    tags: lines(git('tag', '--list')),
    changelog,
  }
}

function plan({ root, wanted, date }: ReleaseOptions) {
  const packages = readPackages(root)
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const current = versionOf(packages)
  const version = nextVersion(current, wanted)
  const names = packages.map(({ manifest }) => manifest.name)
  const manifests = packages.map(({ path }) => `${path}/package.json`)
  const changelog = releaseChangelog(read('CHANGELOG.md'), version, date)
  const state = readState(root, read('CHANGELOG.md'))
  return {
    packages: publishOrder(packages),
    current,
    version,
    head: state.head,
    problems: releaseProblems(state, version),
    changelog,
    manifests,
    /** The files of the commit, by path. */
    files: new Map([
      ...manifests.map((path) => [path, manifestAt(read(path), version, names)] as const),
      ['package-lock.json', lockFileAt(read('package-lock.json'), version, packages)],
      ['CHANGELOG.md', changelog],
    ]),
  }
}

function readyPlan(options: ReleaseOptions) {
  const planned = plan(options)
  if (planned.problems[0]) throw new Error(planned.problems[0])
  return planned
}

const commitArguments = (version: string, paths: Iterable<string>) =>
  ['commit', '--quiet', '-m', `chore: release ${version}`, '--', ...paths] as const
// Annotated, since `git push --follow-tags` pushes only annotated tags.
const tagArguments = (version: string) => ['tag', '-a', `v${version}`, '-m', `v${version}`] as const

/** Creates the commit and the tag of a release. If anything fails, the repository is restored. */
export async function release(options: ReleaseOptions): Promise<void> {
  const { root } = options
  readyPlan(options)
  show('npm', ['test'], root)
  // The tests take minutes; files may have changed since.
  const { packages, version, head, files } = readyPlan(options)
  try {
    for (const [path, text] of files) writeFileSync(join(root, path), text)
    show('npm', ['run', '--silent', 'build'], root)
    await withTarballs(root, packages, assertPublishable)
    run('git', commitArguments(version, files.keys()), root)
    run('git', tagArguments(version), root)
  } catch (error) {
    run('git', ['reset', '--quiet', '--soft', head], root)
    run('git', ['restore', '--staged', '--worktree', '--', ...files.keys()], root)
    throw error
  }
  console.log(`Committed and tagged v${version}. Publish it with: git push --follow-tags`)
}

/** Prints what `release` would do, without changing anything. Returns the problems that prevent it. */
export async function rehearse(options: ReleaseOptions & { readonly skipTests: boolean }): Promise<string[]> {
  const { root, skipTests } = options
  const { packages, current, version, problems, changelog, manifests, files } = plan(options)
  const heading = (title: string) => console.log(`\n${title}`)
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`.padStart(12)

  console.log(`Release ${current} → ${version}, as a dry run: nothing is changed.`)
  heading(skipTests ? 'Would run npm test (skipped)' : 'npm test')
  if (!skipTests) show('npm', ['test'], root)
  heading('Versions')
  for (const path of [...manifests, 'package-lock.json']) console.log(`  ${path}: ${current} → ${version}`)
  heading(`CHANGELOG.md, [${version}] - ${options.date}`)
  console.log(changelogSection(changelog, version)?.replace(/^/gm, '  ') ?? '  nothing')
  const found = await withTarballs(root, packages, async (tarballs) => {
    for (const { package: one, size, files: packed } of tarballs) {
      heading(`${one.manifest.name}: ${packed.length} files, ${kilobytes(size).trim()} packed`)
      for (const file of packed) console.log(`${kilobytes(file.size)}  ${file.path}`)
    }
    return tarballProblems(tarballs)
  })
  heading('Commands')
  const commands = [
    ['npm', 'run', 'build'],
    ['git', ...commitArguments(version, files.keys())],
    ['git', ...tagArguments(version)],
  ]
  const quoted = (word: string) => (word.includes(' ') ? `'${word}'` : word)
  for (const command of commands) console.log(`  ${command.map(quoted).join(' ')}`)
  heading('Commands of the release workflow, after git push --follow-tags')
  for (const { manifest } of packages) {
    const tarball = `${manifest.name.replace('@', '').replace('/', '-')}-${version}.tgz`
    console.log(`  npm ${publishArguments(tarball, version).join(' ')}`)
  }
  return [...problems, ...found]
}
