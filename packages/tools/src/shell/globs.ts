import { lstatSync, readdirSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import type { Access } from 'millrace'
import type { Character } from '../permission/characters.ts'
import { charactersOf, isSign } from '../permission/characters.ts'
import { fits, segmentOf } from '../permission/segment.ts'
import type { SeenAccess } from './commands/plain-line.ts'

const mostNames = 20_000
const mostFound = 500

/**
 * What a glob finds by now, as the shell will look for it. If that is too much it stays unknown. A file that the same line makes before is
 * not found; but it got its contents from somewhere, and that was judged.
 */
export function withoutGlobs({ glob, ...access }: SeenAccess, root: string): Access[] {
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
  // Sets such as `[a-c]` mean something else in every locale.
  if (characters.some((character) => isSign(character, '['))) return undefined
  try {
    const paths = matchesOf(characters, folder, { names: mostNames })
    return paths.length > mostFound ? undefined : paths
  } catch {
    return undefined
  }
}

/** A pattern that fits nothing is handed on as it is written: bash(1), Pathname Expansion. */
function matchesOf(pattern: readonly Character[], folder: string, budget: { names: number }): string[] {
  const text = textOf(pattern)
  const segments = splitAtSlashes(pattern)
  // Behind a link `..` is the folder above where that leads.
  if (segments.slice(1).some((segment) => textOf(segment) === '..')) throw new Error('leads anywhere')
  let found = [text.startsWith('/') ? '/' : folder]
  let isLiteral = true
  for (const segment of segments) {
    if (segment.some(isWild)) {
      found = found.flatMap((parent) => named(segment, parent, budget))
      isLiteral = false
    } else
      found = found.map((parent) => join(parent, textOf(segment))).filter((path) => isLiteral || exists(path))
    if (found.length > mostFound) throw new Error('finds too much')
  }
  return found.length > 0 ? found : [resolve(folder, text)]
}

function named(segment: readonly Character[], parent: string, budget: { names: number }): string[] {
  const tokens = segmentOf(segment)
  const isNamed = (name: string) => fits(tokens, [...name], (token, character) => token(character))
  const showsDots = segment[0]?.value === '.'
  // Older shells find `..` with `.*`, too.
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
  return isSign(character, '*') || isSign(character, '?')
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

/** Whether a glob may come to a word that a program takes for an option. */
export function findsOption(pattern: string, folder: string | undefined): boolean {
  const characters = charactersOf(pattern)
  const [first = []] = splitAtSlashes(characters)
  const begins = (sign: string) => isSign(characters[0], sign)
  if (!begins('*') && !begins('?') && !begins('[')) return false
  if (folder === undefined || first.some((character) => isSign(character, '['))) return true
  const tokens = segmentOf(first)
  return namesIn(folder).some(
    (name) => name.startsWith('-') && fits(tokens, [...name], (token, character) => token(character)),
  )
}
