import type { SyntaxNode, Word } from 'unbash'
import { forEachChild, parse } from 'unbash'
import type { PlainWord } from './plain-line.ts'

/** The parser reads nested text again for every level, and a word again for every brace in it. */
const mostOpenings = 100
const mostSeen = 200
const deepest = 3

/**
 * Every simple command that shows in a line, also in the lines that it hands on. It is a glance, for rules that deny or ask: what a line hides
 * from it, a person still sees.
 */
export function seenIn(line: string, depth = 0): (readonly PlainWord[])[] {
  if (isMaze(line)) return []
  const seen: (readonly PlainWord[])[] = []
  try {
    const stack: SyntaxNode[] = [parse(line)]
    for (let node = stack.pop(); node && seen.length < mostSeen; node = stack.pop()) {
      if (node.type === 'Command' && node.name) seen.push([node.name, ...node.args].map(shown))
      const children: SyntaxNode[] = []
      forEachChild(node, (child) => void children.push(child))
      stack.push(...children.reverse())
    }
  } catch {
    // The parser's own stack has an end, too.
  }
  const lines = depth < deepest ? seen.flat().filter(({ value }) => /[\s;&|]/.test(value)) : []
  return [...seen, ...lines.flatMap(({ value }) => seenIn(value, depth + 1))].slice(0, mostSeen)
}

/** The commands that may be handed on by one: each of its words may be the first of another. */
export function handedOn(words: readonly PlainWord[]): (readonly PlainWord[])[] {
  const behind = words
    .slice(1, 30)
    .map((_, index) => words.slice(index + 1))
    .filter(([name]) => /^[A-Za-z_./]/.test(name?.value ?? ''))
  const lines = words.slice(1).filter(({ value }) => /[\s;&|]/.test(value))
  return [...behind, ...lines.flatMap(({ value }) => seenIn(value, 1))]
}

function shown(word: { readonly text: string; readonly type: string }): PlainWord {
  return { value: word.type === 'Word' ? ((word as Word).value ?? word.text) : word.text }
}

function isMaze(line: string): boolean {
  const openings = line.match(/[$<>(]\(|<<|`|\$[{[]/g)?.length ?? 0
  return openings > mostOpenings || line.split(/\s/).some((word) => word.split('{').length > mostOpenings)
}
