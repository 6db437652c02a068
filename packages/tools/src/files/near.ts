import { numbered } from './lines.ts'

// Looking for what is meant costs a few passes over the file; a file larger than this is not looked through.
const maxChars = 2 ** 20
const maxShown = 10
const maxLineChars = 300

/** Why a text was not found, and what is there that may have been meant: a sentence, and lines of the file below it. */
export function whyNotFound(
  text: string,
  { old_text: old, new_text: next }: { old_text: string; new_text: string },
): string {
  const plain = withoutNumbers(old)
  if (plain !== undefined && text.replaceAll('\r\n', '\n').includes(plain))
    return 'old_text is not in the file as given: leave out the line numbers and tabs that read_file puts before the lines.'
  if (text.length <= maxChars) {
    const lines = text.split(/\r?\n/)
    const spaced = withOtherSpaces(lines, old)
    if (spaced)
      return `old_text is not in the file exactly so: it is there with other spaces, tabs or line breaks. The lines are:\n${show(lines, spaced)}`
    // A few characters, or a part of what was to be replaced, are there anyway.
    if (next.trim().length >= 8 && !old.includes(next) && text.replaceAll('\r\n', '\n').includes(next))
      return 'old_text is not in the file, but new_text is already: the edit may have been made before.'
    const similar = mostSimilar(lines, old)
    if (similar)
      return `old_text is not in the file. The most similar lines are:\n${show(lines, similar)}\nRead the file to see what is there.`
  }
  return 'old_text is not in the file: read the file to see what is there.'
}

/** Which lines, from 0. */
interface Window {
  readonly first: number
  readonly count: number
}

function withoutNumbers(old: string): string | undefined {
  const lines = old.replaceAll('\r\n', '\n').split('\n')
  const bare = lines.map((line) => line.replace(/^[ +]*\d+\t/, ''))
  return lines.every((line, index) => line === '' || line !== bare[index]) ? bare.join('\n') : undefined
}

/** Where it is found if only the words count. One search in one string, so that its cost is linear. */
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

/** Around the line that has most in common with the longest line of the text; undefined if none has much. */
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

/** 1 if they are made of the same pairs of letters, 0 if they have none in common (the Sørensen–Dice coefficient). */
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
