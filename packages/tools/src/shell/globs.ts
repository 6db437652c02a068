import { lstatSync, readdirSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import type { Access } from 'millrace'
import type { Character } from '../permission/characters.ts'
import { charactersOf, isSpecial } from '../permission/characters.ts'
import { fits, segmentOf } from '../permission/segment.ts'
import type { WrittenAccess } from './commands/plain-line.ts'

const maxNames = 20_000
const maxFound = 500

/**
 * Expands a glob as the shell will. If it matches too much, the access stays opaque. Files that the
 * same line creates first are not found, but the command that writes them was checked too.
 */
export function expandGlobs({ glob, ...access }: WrittenAccess, root: string): Access[] {
  if (!glob || access.kind === 'run' || access.kind === 'fetch') return [access as Access]
  const found = pathsOf(glob)
  if (!found) return [access]
  const { opaque: _known, ...known } = access
  return found.map((path) => ({ ...known, path: fromRoot(root, path) }))
}

function fromRoot(root: string, path: string): string {
  const way = relative(root, path)
  return way === '' ? '.' : /^\.\.(?:\/|$)/.test(way) || isAbsolute(way) ? path : way
}

function pathsOf({ folder, pattern }: { folder: string; pattern: string }): string[] | undefined {
  const characters = charactersOf(pattern)
  // Sets such as `[a-c]` depend on the locale.
  if (characters.some((character) => isSpecial(character, '['))) return undefined
  try {
    const paths = matchesOf(characters, folder, { names: maxNames })
    return paths.length > maxFound ? undefined : paths
  } catch {
    return undefined
  }
}

/** A pattern without matches is passed on literally: bash(1), Pathname Expansion. */
function matchesOf(pattern: readonly Character[], folder: string, budget: { names: number }): string[] {
  const text = textOf(pattern)
  const segments = splitAtSlashes(pattern)
  // After a link, `..` is the parent of the link's target.
  if (segments.slice(1).some((segment) => textOf(segment) === '..')) throw new Error('leads anywhere')
  let found = [text.startsWith('/') ? '/' : folder]
  let isLiteral = true
  for (const segment of segments) {
    if (segment.some(isWild)) {
      found = found.flatMap((parent) => named(segment, parent, budget))
      isLiteral = false
    } else
      found = found.map((parent) => join(parent, textOf(segment))).filter((path) => isLiteral || exists(path))
    if (found.length > maxFound) throw new Error('finds too much')
  }
  return found.length > 0 ? found : [resolve(folder, text)]
}

function named(segment: readonly Character[], parent: string, budget: { names: number }): string[] {
  const tokens = segmentOf(segment)
  const isNamed = (name: string) => fits(tokens, [...name], (token, character) => token(character))
  const showsDots = segment[0]?.value === '.'
  // In older shells `.*` also matches `..`.
  if (showsDots && isNamed('..')) throw new Error('leads anywhere')
  const names = namesIn(parent)
  budget.names -= names.length
  if (budget.names < 0) throw new Error('looks at too much')
  return names
    .filter((name) => (showsDots || !name.startsWith('.')) && isNamed(name))
    .map((name) => join(parent, name))
}

function textOf(characters: readonly Character[]): string {
  return characters.map(({ value }) => value).join('')
}

function isWild(character: Character): boolean {
  return isSpecial(character, '*') || isSpecial(character, '?')
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function exists(path: string): boolean {
  try {
    return lstatSync(path) !== undefined
  } catch {
    return false
  }
}

function splitAtSlashes(characters: readonly Character[]): Character[][] {
  const parts: Character[][] = [[]]
  for (const character of characters)
    if (character.value === '/') parts.push([])
    else parts.at(-1)?.push(character)
  return parts.filter((part) => part.length > 0)
}

/** Whether a glob may expand to a word that a program would read as an option. */
export function findsOption(pattern: string, folder: string | undefined): boolean {
  const characters = charactersOf(pattern)
  const [first = []] = splitAtSlashes(characters)
  const startsWith = (sign: string) => isSpecial(characters[0], sign)
  if (!startsWith('*') && !startsWith('?') && !startsWith('[')) return false
  if (folder === undefined || first.some((character) => isSpecial(character, '['))) return true
  const tokens = segmentOf(first)
  return namesIn(folder).some(
    (name) => name.startsWith('-') && fits(tokens, [...name], (token, character) => token(character)),
  )
}
