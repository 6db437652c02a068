import { expandBraces } from './braces.ts'
import type { Character } from './characters.ts'
import { charactersOf, isSpecial } from './characters.ts'
import type { Token } from './segment.ts'
import { fits, many, segmentOf } from './segment.ts'

/** The segments of a path: absolute, or relative to the workspace. */
export interface ParsedPath {
  readonly absolute: boolean
  readonly segments: readonly string[]
}

export function parsePath(path: string): ParsedPath {
  return {
    absolute: /^(\/|[a-z]:\/)/i.test(path),
    segments: path.split('/').filter((segment) => segment !== '' && segment !== '.'),
  }
}

/** Folds case and Unicode composition, as some file systems do. */
export function foldPath(path: string): string {
  return path.normalize('NFC').toLowerCase()
}

/**
 * A glob: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of folders. A leading dot needs no special
 * pattern. A trailing `/` matches everything below. With `below`, for deny and ask rules, a last name
 * without wildcards also matches everything below: `.git` includes its contents. With `fold`, paths to
 * match must be folded too. `home` replaces `~`. Throws the rest of a sentence if the pattern is invalid.
 */
export function pathPattern(
  pattern: string,
  { below = false, fold = false, home = '' }: { below?: boolean; fold?: boolean; home?: string } = {},
): (path: ParsedPath) => boolean {
  const normalize = fold ? foldPath : (path: string) => path
  const characters = expandHome(charactersOf(normalize(pattern)), normalize(home))
  const globs = expandBraces(characters).map((glob) => globOf(glob, below))
  return ({ absolute, segments }) =>
    globs.some((glob) => glob.absolute === absolute && fits(glob.segments, segments, segmentFits))
}

type Segment = typeof many | readonly Token[]

function segmentFits(tokens: readonly Token[], segment: string): boolean {
  return fits(tokens, [...segment], (token, character) => token(character))
}

interface Glob {
  readonly absolute: boolean
  readonly segments: readonly Segment[]
}

function globOf(characters: readonly Character[], below: boolean): Glob {
  const parts = splitAtSlashes(characters)
  const { absolute } = parsePath(characters.map(({ value }) => value).join(''))
  const named = parts.filter((part) => textOf(part) !== '' && textOf(part) !== '.')
  if (named.some((part) => textOf(part) === '..'))
    throw new Error("contains '..': write paths relative to the workspace, or absolute")
  const segments = named.map((part) => (isGlobstar(part) ? many : segmentOf(part)))
  const isFolder = parts.length > 1 && parts.at(-1)?.length === 0
  const endsPlain = named.at(-1)?.every(({ value, literal }) => literal || !'*?['.includes(value)) ?? true
  return { absolute, segments: isFolder || (below && endsPlain) ? [...segments, many] : segments }
}

function isGlobstar(part: readonly Character[]): boolean {
  return part.length === 2 && part.every((character) => isSpecial(character, '*'))
}

function splitAtSlashes(characters: readonly Character[]): Character[][] {
  const parts: Character[][] = [[]]
  for (const character of characters)
    if (character.value === '/') parts.push([])
    else parts.at(-1)?.push(character)
  return parts
}

function textOf(characters: readonly Character[]): string {
  return characters.map(({ value }) => value).join('')
}

/** Replaces `~` with the home folder, and rejects glob syntax that is not supported. */
function expandHome(characters: readonly Character[], home: string): readonly Character[] {
  const [first, second] = characters
  if (isSpecial(first, '!'))
    throw new Error('starts with !: negation is not supported, use a deny rule instead')
  const group = characters.findIndex(
    (character, index) =>
      isSpecial(character, '(') &&
      ['@', '+', '!', '?', '*'].some((sign) => isSpecial(characters[index - 1], sign)),
  )
  if (group >= 0) throw new Error('uses a group such as @(a|b), which is not supported: write {a,b}')
  if (!isSpecial(first, '~')) return characters
  if (second && second.value !== '/')
    throw new Error("starts with ~ but not with '~/': write the absolute path, or \\~ for a literal ~")
  return [...[...home].map((value) => ({ value, literal: true })), ...characters.slice(1)]
}
