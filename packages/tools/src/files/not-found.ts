import { numbered } from './lines.ts'

// Looking for similar text takes a few passes over the file, so larger files are skipped.
const maxChars = 2 ** 20
const maxShown = 10
const maxLineChars = 300

/** Explains why a text was not found, with similar lines of the file. */
export function whyNotFound(
  text: string,
  { old_text: old, new_text: next }: { old_text: string; new_text: string },
): string {
  const plain = withoutNumbers(old)
  if (plain !== undefined && text.replaceAll('\r\n', '\n').includes(plain))
    return 'old_text is not in the file: remove the line numbers and tabs that read_file adds.'
  if (text.length <= maxChars) {
    const lines = text.split(/\r?\n/)
    const spaced = withOtherSpaces(lines, old)
    if (spaced)
      return `old_text is in the file only with different spaces, tabs or line breaks. The lines are:\n${show(lines, spaced)}`
    // Short text, or part of the old text, may occur by chance.
    if (next.trim().length >= 8 && !old.includes(next) && text.replaceAll('\r\n', '\n').includes(next))
      return 'old_text is not in the file, but new_text is: the edit may already have been made.'
    const similar = mostSimilar(lines, old)
    if (similar)
      return `old_text is not in the file. The most similar lines are:\n${show(lines, similar)}\nRead the file to see what is there.`
  }
  return 'old_text is not in the file: read the file to see what is there.'
}

/** A range of lines, from 0. */
interface Window {
  readonly first: number
  readonly count: number
}

function withoutNumbers(old: string): string | undefined {
  const lines = old.replaceAll('\r\n', '\n').split('\n')
  const bare = lines.map((line) => line.replace(/^[ +]*\d+\t/, ''))
  return lines.every((line, index) => line === '' || line !== bare[index]) ? bare.join('\n') : undefined
}

/** Finds the text ignoring white space. One search in one string, so its cost is linear. */
function withOtherSpaces(lines: readonly string[], old: string): Window | undefined {
  const wanted = words(old)
  if (wanted === '') return undefined
  const starts: number[] = []
  let all = ''
  for (const line of lines) {
    starts.push(all.length)
    const kept = words(line)
    if (kept) all += `${kept} `
  }
  const at = all.indexOf(wanted)
  if (at === -1) return undefined
  const first = starts.findLastIndex((start) => start <= at)
  const last = starts.findLastIndex((start) => start < at + wanted.length)
  return { first, count: last - first + 1 }
}

function words(text: string): string {
  return text.trim().split(/\s+/).join(' ')
}

/**
 * The lines around the best match for the longest line of the text; undefined if none is similar
 * enough.
 */
function mostSimilar(lines: readonly string[], old: string): Window | undefined {
  const wanted = old.split(/\r?\n/).map((line) => line.trim())
  const longest = wanted.reduce(
    (best, line, index) => (line.length > (wanted[best] ?? '').length ? index : best),
    0,
  )
  const pairs = pairsIn((wanted[longest] ?? '').slice(0, maxLineChars))
  let best = { line: -1, score: 0.5 }
  for (const [index, line] of lines.entries()) {
    const score = likeness(pairs, pairsIn(line.trim().slice(0, maxLineChars)))
    if (score > best.score) best = { line: index, score }
  }
  if (best.line === -1) return undefined
  const first = Math.max(0, best.line - longest)
  return { first: longest < maxShown ? first : best.line, count: wanted.length }
}

function pairsIn(text: string): Set<string> {
  const pairs = new Set<string>()
  for (let at = 0; at + 1 < text.length; at++) pairs.add(text.slice(at, at + 2))
  return pairs
}

/** The Sørensen–Dice coefficient: 1 for the same character pairs, 0 if there are none in common. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0
  let common = 0
  for (const pair of one) if (other.has(pair)) common++
  return (2 * common) / (one.size + other.size)
}

function show(lines: readonly string[], { first, count }: Window): string {
  return lines
    .slice(first, first + Math.min(count, maxShown))
    .map((line, index) =>
      numbered(first + index + 1, line.length > maxLineChars ? `${line.slice(0, maxLineChars)}…` : line),
    )
    .join('\n')
}
