import type { SyntaxNode, Word } from 'unbash'
import { forEachChild, parse } from 'unbash'
import type { PlainWord } from './plain-line.ts'

/** The parser rereads nested text at every level, and a word for every brace in it. */
const maxOpenings = 100
const maxCommands = 200
const maxDepth = 3

/**
 * The simple commands visible in a line, including lines passed as arguments (`sh -c '…'`). Best effort,
 * for deny and ask rules: a person still sees the whole line.
 */
export function visibleCommands(line: string, depth = 0): (readonly PlainWord[])[] {
  if (isTooNested(line)) return []
  const seen: (readonly PlainWord[])[] = []
  try {
    const stack: SyntaxNode[] = [parse(line)]
    for (let node = stack.pop(); node && seen.length < maxCommands; node = stack.pop()) {
      if (node.type === 'Command' && node.name) seen.push([node.name, ...node.args].map(wordOf))
      const children: SyntaxNode[] = []
      forEachChild(node, (child) => void children.push(child))
      stack.push(...children.reverse())
    }
  } catch {
    // The parser may overflow its stack.
  }
  const lines = depth < maxDepth ? seen.flat().filter(({ value }) => /[\s;&|]/.test(value)) : []
  return [...seen, ...lines.flatMap(({ value }) => visibleCommands(value, depth + 1))].slice(0, maxCommands)
}

/** The commands that a command may run: any of its words may start one. */
export function passedCommands(words: readonly PlainWord[]): (readonly PlainWord[])[] {
  const behind = words
    .slice(1, 30)
    .map((_, index) => words.slice(index + 1))
    .filter(([name]) => /^[A-Za-z_./]/.test(name?.value ?? ''))
  const lines = words.slice(1).filter(({ value }) => /[\s;&|]/.test(value))
  return [...behind, ...lines.flatMap(({ value }) => visibleCommands(value, 1))]
}

function wordOf(word: { readonly text: string; readonly type: string }): PlainWord {
  return { value: word.type === 'Word' ? ((word as Word).value ?? word.text) : word.text }
}

function isTooNested(line: string): boolean {
  const openings = line.match(/[$<>(]\(|<<|`|\$[{[]/g)?.length ?? 0
  return openings > maxOpenings || line.split(/\s/).some((word) => word.split('{').length > maxOpenings)
}
