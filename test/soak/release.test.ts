import { createHash } from 'node:crypto'
import { globSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { changelogSection, releaseChangelog } from '../../scripts/release/changelog.ts'
import { nextVersion, type ReleaseState, releaseProblems } from '../../scripts/release/checks.ts'
import { publishArguments } from '../../scripts/release/publish.ts'
import {
  lockFileAt,
  manifestAt,
  publishOrder,
  readPackages,
  versionOf,
} from '../../scripts/release/workspace.ts'
import { root } from '../root.ts'
import { releaseWorkspace } from './release-workspace.ts'

const changelog = '# Changes\n\n## [Unreleased]\n\n- New: `$&`.\n\n## [0.1.0] - 2026-01-01\n\n- First.\n'

describe('the changelog', () => {
  test('moves unreleased changes to a section with version and date, below an empty [Unreleased]', () => {
    expect(releaseChangelog(changelog, '0.2.0', '2026-11-17')).toBe(
      '# Changes\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-17\n\n- New: `$&`.\n\n## [0.1.0] - 2026-01-01\n\n- First.\n',
    )
  })

  test('has a section for each version', () => {
    const released = releaseChangelog(changelog, '0.2.0', '2026-11-17')
    expect(changelogSection(released, 'Unreleased')).toBe('')
    expect(changelogSection(released, '0.2.0')).toBe('- New: `$&`.')
    expect(changelogSection(released, '0.1.0')).toBe('- First.')
    expect(changelogSection(released, '0.1')).toBeUndefined()
  })

  test('of this project can be released', () => {
    const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    const section = changelogSection(text, 'Unreleased')
    expect(changelogSection(releaseChangelog(text, '99.0.0', '2026-11-17'), '99.0.0')).toBe(section)
  })
})

describe('the version', () => {
  test.each([
    ['patch', '0.1.1'],
    ['minor', '0.2.0'],
    ['major', '1.0.0'],
    ['0.1.1', '0.1.1'],
    ['1.0.0-beta.1', '1.0.0-beta.1'],
    // Without a tag it was never released.
    ['0.1.0', '0.1.0'],
  ])('0.1.0 and %s give %s', (wanted, next) => {
    expect(nextVersion('0.1.0', wanted)).toBe(next)
  })

  test.each(['0.0.9', '0.1.0-beta.1'])('%s is rejected after 0.1.0', (wanted) => {
    expect(() => nextVersion('0.1.0', wanted)).toThrow(`${wanted} is lower than 0.1.0`)
  })

  test.each(['v1.2.3', '1.2', 'huge', '', '1.2.3+build', 'prerelease'])("'%s' is rejected", (wanted) => {
    expect(() => nextVersion('0.1.0', wanted)).toThrow(`'${wanted}' is not a version`)
  })

  test('a prerelease does not become the latest version', () => {
    expect(publishArguments('a.tgz', '1.0.0-beta.1')).toEqual(
      'publish a.tgz --access public --tag next --provenance'.split(' '),
    )
    expect(publishArguments('a.tgz', '1.0.0')).toContain('latest')
  })
})

describe('the checks', () => {
  const ready: ReleaseState = {
    branch: 'main',
    changes: [],
    head: 'abc',
    originHead: 'abc',
    tags: ['v0.1.0'],
    changelog,
  }

  test('a clean main with something unreleased can be released, with an origin or without', () => {
    expect(releaseProblems(ready, '0.2.0')).toEqual([])
    expect(releaseProblems({ ...ready, originHead: undefined }, '0.2.0')).toEqual([])
  })

  test.each<[Partial<ReleaseState>, RegExp]>([
    [{ branch: 'feature' }, /^Releases are made on main, not on feature/],
    [{ changes: ['?? notes.txt'] }, /^The working tree has changes \(notes.txt/],
    [{ originHead: 'def' }, /^main differs from main at origin/],
    [{ originHead: '' }, /^main differs from main at origin/],
    [{ tags: ['v0.2.0'] }, /^The tag v0.2.0 already exists/],
    [
      { changelog: '# Changes\n\n## [Unreleased]\n\n## [0.1.0]\n\n- First.\n' },
      /nothing under \[Unreleased\]/,
    ],
    [{ changelog: '# Changes\n' }, /nothing under \[Unreleased\]/],
  ])('%o prevents a release', (change, sentence) => {
    expect(releaseProblems({ ...ready, ...change }, '0.2.0')).toEqual([expect.stringMatching(sentence)])
  })
})

describe('this workspace', () => {
  const packages = readPackages(root)
  const names = packages.map(({ manifest }) => manifest.name)
  const read = (path: string) => readFileSync(join(root, path), 'utf8')

  test('publishes millrace first, and nothing private', () => {
    const order = publishOrder(packages).map(({ manifest }) => manifest.name)
    expect(order[0]).toBe('millrace')
    expect(order.toSorted()).toEqual(
      packages.flatMap(({ manifest }) => (manifest.private ? [] : [manifest.name])).toSorted(),
    )
  })

  test('changes from one version to another and back without any other change', () => {
    const version = versionOf(packages)
    for (const { path } of packages) {
      const text = read(`${path}/package.json`)
      const bumped = manifestAt(text, '99.0.0', names)
      expect(bumped).not.toContain(`"${version}"`)
      expect(manifestAt(bumped, version, names)).toBe(text)
    }
    const lock = read('package-lock.json')
    const bumped = lockFileAt(lock, '99.0.0', packages)
    expect(bumped.match(/"99\.0\.0"/g)?.length).toBeGreaterThan(packages.length)
    expect(lockFileAt(bumped, version, packages)).toBe(lock)
    expect(lock).not.toMatch(/"resolved": "https?:/)
  })
})

describe('a release', () => {
  let workspace: Awaited<ReturnType<typeof releaseWorkspace>>
  const opened: (typeof workspace)[] = []
  beforeEach(async () => {
    workspace = await releaseWorkspace()
    opened.push(workspace)
  })
  afterAll(() => {
    for (const { folder, registry } of opened) {
      registry.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  /** Every file, including those of git. */
  function snapshot() {
    const paths = globSync('**/*', { cwd: workspace.work }).concat(
      globSync('.git/**/*', { cwd: workspace.work }),
    )
    const hash = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
    return Object.fromEntries(
      paths
        .filter((path) => statSync(join(workspace.work, path)).isFile())
        .map((path) => [path, hash(join(workspace.work, path))]),
    )
  }
  const json = (path: string) => JSON.parse(readFileSync(join(workspace.work, path), 'utf8'))

  test('as a dry run prints every step and changes nothing', async () => {
    const before = snapshot()
    const { exit, stdout, stderr } = await workspace.script(
      'release.ts',
      'minor',
      '--dry-run',
      '--skip-tests',
    )
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    const lines = [
      'Release 0.1.0 → 0.2.0, as a dry run: nothing is changed.',
      '  packages/tools/package.json: 0.1.0 → 0.2.0',
      '  - Costs $1 less, or $& more.',
      'millrace: 4 files',
      '  dist/index.d.ts',
      "  git commit --quiet -m 'chore: release 0.2.0' -- packages/millrace/package.json",
      '  git tag -a v0.2.0 -m v0.2.0',
      '  npm publish millrace-tools-0.2.0.tgz --access public --tag latest --provenance',
    ]
    for (const line of lines) expect(stdout).toContain(line)
    expect(snapshot()).toEqual(before)
    expect(workspace.registry.published).toEqual([])
  })

  test('makes one commit and one tag with the new version everywhere', async () => {
    const { exit, stdout, stderr } = await workspace.script('release.ts', 'minor')
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toContain('Committed and tagged v0.2.0. Publish it with: git push --follow-tags')

    const date = new Date().toISOString().slice(0, 10)
    expect(await workspace.git('log', '--format=%s')).toBe('chore: release 0.2.0\nfirst')
    expect(await workspace.git('tag', '--points-at', 'HEAD')).toBe('v0.2.0')
    expect(await workspace.git('cat-file', '-t', 'v0.2.0')).toBe('tag')
    expect(await workspace.git('status', '--porcelain')).toBe('')
    expect(json('packages/millrace/package.json')).toMatchObject({
      version: '0.2.0',
      devDependencies: { '@millrace/tools': '0.2.0' },
    })
    expect(json('packages/page/package.json').dependencies).toEqual({ millrace: '0.2.0' })
    expect(json('packages/tools/package.json').peerDependencies).toEqual({ millrace: '0.2.0' })
    expect(json('package-lock.json').packages['packages/tools']).toMatchObject({
      version: '0.2.0',
      peerDependencies: { millrace: '0.2.0' },
    })
    expect(readFileSync(join(workspace.work, 'CHANGELOG.md'), 'utf8')).toMatch(
      `## [Unreleased]\n\n## [0.2.0] - ${date}\n\n- Costs $1 less, or $& more.\n`,
    )
    expect((await workspace.script('release-notes.ts')).stdout).toBe('- Costs $1 less, or $& more.\n')
    // The tag starts the workflow; nothing has been pushed so far.
    expect(await workspace.git('ls-remote', '--tags', 'origin')).toBe('')
    expect(workspace.registry.published).toEqual([])
  })

  test('is published in order, and publishing can be repeated after a partial failure', async () => {
    const publish = () => workspace.script('release-publish.ts', '--no-provenance')
    expect((await publish()).stderr).toBe(
      'This commit does not have the tag v0.1.0: run npm run release first.\n',
    )

    await workspace.git('tag', 'v0.1.0')
    workspace.registry.rejected.add('@millrace/tools')
    expect((await publish()).exit).toBe(1)
    expect(workspace.registry.published).toEqual(['millrace@0.1.0'])

    workspace.registry.rejected.clear()
    const { exit, stdout } = await publish()
    expect(stdout).toContain('millrace@0.1.0 is already published.')
    expect({ exit, published: workspace.registry.published }).toEqual({
      exit: 0,
      published: ['millrace@0.1.0', '@millrace/tools@0.1.0'],
    })
  })

  test('in a bad state says why in one sentence and changes nothing', async () => {
    workspace.write('notes.txt', 'not committed')
    const before = snapshot()
    const expected = async (sentence: string, ...args: string[]) => {
      const { exit, stderr } = await workspace.script('release.ts', ...args)
      expect({ exit, stderr }).toEqual({ exit: 1, stderr: `${sentence}\n` })
    }
    await expected('The working tree has changes (notes.txt, …): commit or stash them.', 'minor')
    await expected('--skip-tests only works with --dry-run.', 'minor', '--skip-tests')
    await expected('No version given: npm run release -- <version|patch|minor|major> [--dry-run]')
    expect(snapshot()).toEqual(before)
    await workspace.git('add', '.')
    await workspace.git('commit', '--quiet', '-m', 'second')
    await expected('main differs from main at origin: pull or push first.', 'minor')
  })

  test('that fails its tests or its package checks leaves everything as it was', async () => {
    const push = async (message: string) => {
      await workspace.git('commit', '--quiet', '-am', message)
      await workspace.git('push', '--quiet', 'origin', 'main')
    }
    const head = () => workspace.git('rev-parse', 'HEAD')
    const expectUnchanged = async (before: string) => {
      expect(await head()).toBe(before)
      expect(await workspace.git('status', '--porcelain')).toBe('')
      expect(await workspace.git('tag')).toBe('')
      expect(json('packages/tools/package.json').version).toBe('0.1.0')
    }

    workspace.write('test.mjs', 'process.exit(1)')
    await push('a test that fails')
    for (const args of [['minor'], ['minor', '--dry-run']])
      expect((await workspace.script('release.ts', ...args)).stderr).toMatch(/npm test failed\.\n$/)
    await expectUnchanged(await head())

    workspace.write('test.mjs', "import { writeFileSync } from 'node:fs'; writeFileSync('left.txt', '')")
    await push('a test that leaves a file')
    expect((await workspace.script('release.ts', 'minor')).stderr).toContain('has changes (left.txt, …)')
    rmSync(join(workspace.work, 'left.txt'))
    await expectUnchanged(await head())

    workspace.write('test.mjs', '')
    const manifest = json('packages/tools/package.json')
    manifest.exports['.'].types = './dist/missing.d.ts'
    workspace.write('packages/tools/package.json', manifest)
    await push('a package without types')
    const { exit, stderr } = await workspace.script('release.ts', 'minor')
    expect(exit).toBe(1)
    expect(stderr).toMatch(/^The packages cannot be published:\n@millrace\/tools: .*missing\.d\.ts/)
    await expectUnchanged(await head())
  })
})
