import { expandBraces } from './braces.ts'
import type { Character } from './characters.ts'
import { charactersOf, isSign } from './characters.ts'
import type { Token } from './segment.ts'
import { fits, many, segmentOf } from './segment.ts'

/** Where a path leads, by its folders: from the root of all, or from the workspace. */
export interface Place {
  readonly absolute: boolean
  readonly segments: readonly string[]
}

export function placeOf(path: string): Place {
  return {
    absolute: /^(\/|[a-z]:\/)/i.test(path),
    segments: path.split('/').filter((segment) => segment !== '' && segment !== '.'),
  }
}

/** How file systems that do not mind case, or how an accent is written, see a name. */
export function foldPath(path: string): string {
  return path.normalize('NFC').toLowerCase()
}

/**
 * A glob: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of folders. Dots are nothing special. A `/` at the end is everything
 * below. With `below`, so is a last name without wildcards, for rules that forbid: whoever writes `.git` means what is in it.
 * With `fold`, the places it is asked about must be folded too. `home` is what `~` stands for. Throws the rest of a sentence if it cannot be used.
 */
export function pathPattern(
  pattern: string,
  { below = false, fold = false, home = '' }: { below?: boolean; fold?: boolean; home?: string } = {},
): (place: Place) => boolean {
  const seen = fold ? foldPath : (path: string) => path
  const characters = rooted(charactersOf(seen(pattern)), seen(home))
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
  const { absolute } = placeOf(characters.map(({ value }) => value).join(''))
  const named = parts.filter((part) => textOf(part) !== '' && textOf(part) !== '.')
  if (named.some((part) => textOf(part) === '..'))
    throw new Error("has '..' in it: paths are given from the workspace, or in full")
  const segments = named.map((part) => (isGlobstar(part) ? many : segmentOf(part)))
  const isFolder = parts.length > 1 && parts.at(-1)?.length === 0
  const endsPlain = named.at(-1)?.every(({ value, plain }) => plain || !'*?['.includes(value)) ?? true
  return { absolute, segments: isFolder || (below && endsPlain) ? [...segments, many] : segments }
}

function isGlobstar(part: readonly Character[]): boolean {
  return part.length === 2 && part.every((character) => isSign(character, '*'))
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

/** Puts the home folder in the place of `~`, and refuses what other globs can and this cannot. */
function rooted(characters: readonly Character[], home: string): readonly Character[] {
  const [first, second] = characters
  if (isSign(first, '!')) throw new Error('begins with a !: there is no "all but", so use a rule that denies')
  const group = characters.findIndex(
    (character, index) =>
      isSign(character, '(') && ['@', '+', '!', '?', '*'].some((sign) => isSign(characters[index - 1], sign)),
  )
  if (group >= 0) throw new Error('has a group such as @(a|b): write {a,b}')
  if (!isSign(first, '~')) return characters
  if (second && second.value !== '/')
    throw new Error("begins with a ~ that is not '~/': write the path in full, or \\~ for a name with ~")
  return [...[...home].map((value) => ({ value, plain: true })), ...characters.slice(1)]
}
