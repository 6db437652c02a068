import semver from 'semver'
import { changelogSection } from './changelog.ts'

export interface ReleaseState {
  readonly branch: string
  /** The lines of `git status --porcelain`. */
  readonly changes: readonly string[]
  readonly head: string
  /** The commit of origin's main: empty if origin has no main, undefined if there is no origin. */
  readonly originHead: string | undefined
  readonly tags: readonly string[]
  readonly changelog: string
}

/** `wanted` is a version, or `patch`, `minor` or `major`. */
export function nextVersion(current: string, wanted: string): string {
  const next = ['patch', 'minor', 'major'].includes(wanted)
    ? semver.inc(current, wanted as semver.ReleaseType)
    : semver.valid(wanted)
  // `valid` also accepts ' v1.2.3', and drops build metadata, which the registry ignores.
  if (next === null || (wanted !== next && /\d/.test(wanted)))
    throw new Error(`'${wanted}' is not a version: pass patch, minor, major or a version such as 1.2.3.`)
  // The current version may not be released yet: the check of its tag decides.
  if (semver.lt(next, current)) throw new Error(`${next} is lower than ${current}, the current version.`)
  return next
}

/** The problems that prevent a release, one sentence each. */
export function releaseProblems(state: ReleaseState, version: string): string[] {
  const { branch, changes, head, originHead, tags, changelog } = state
  const problems: string[] = []
  if (branch !== 'main') problems.push(`Releases are made on main, not on ${branch}: run git switch main.`)
  if (changes.length > 0)
    problems.push(`The working tree has changes (${changes[0]?.slice(3)}, …): commit or stash them.`)
  if (originHead !== undefined && originHead !== head)
    problems.push('main differs from main at origin: pull or push first.')
  if (tags.includes(`v${version}`))
    problems.push(`The tag v${version} already exists: choose another version.`)
  if (!changelogSection(changelog, 'Unreleased'))
    problems.push('CHANGELOG.md has nothing under [Unreleased]: describe what changed.')
  return problems
}
