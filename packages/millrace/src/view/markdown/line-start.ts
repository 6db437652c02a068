import type { Align } from './sink.ts'

export interface Item {
  readonly kind: 'item'
  /** The bullet, or the character after the number: a list continues as long as it is the same. */
  readonly mark: string
  /** Undefined for a bullet. */
  readonly number: number | undefined
  /** From the mark to the start of the text. */
  readonly width: number
  readonly isEmpty: boolean
  /** Whether a task is done; undefined if it is not a task. */
  readonly isDone: boolean | undefined
}

type Kind =
  | { readonly kind: 'text' | 'quote' | 'rule' }
  | { readonly kind: 'heading'; readonly level: 1 | 2 | 3 | 4 | 5 | 6 }
  | { readonly kind: 'fence'; readonly fence: string; readonly info: string }
  | { readonly kind: 'table'; readonly head: string; readonly aligns: readonly Align[] }
  | Item

/**
 * What a line starts with, once nothing that follows can change it. `size` is how many characters
 * that takes.
 */
export type Start = Kind & { readonly size: number }

export const plain: Start = { kind: 'text', size: 0 }

/**
 * Past this length a line is plain text, whatever it looks like: the text that is held back must
 * stay small.
 */
const maxHeld = 2000

/** Text that may still become one of the kinds below, or a different one. */
const undecided = new RegExp(
  `^(?:${[
    />/,
    /#{1,6}/,
    /`{1,2}|`{3,}[^`\n]*|~{1,2}|~{3,}.*/,
    /([-*_])(?:[ \t]*\1)*[ \t]*/,
    /(?:[-+*]|\d{1,9}[.)]?)[ \t]*(?:\[(?:[ xX]\]?)?)?/,
    /\|.*(?:\n[-|:> \t]*)?/,
  ]
    .map(({ source }) => source)
    .join('|')})$`,
)

type Groups = readonly (string | undefined)[]

const kinds: readonly (readonly [RegExp, (found: Groups) => Kind])[] = [
  [/^>[ \t]?/, () => ({ kind: 'quote' })],
  [/^(#{1,6})(?!\S)/, ([, marks = '']) => ({ kind: 'heading', level: marks.length as 1 })],
  // CommonMark 0.31, section 4.5: the info string of a backtick fence has no backticks, or it would
  // be a code span.
  [
    /^(`{3,}(?=[^`\n]*\n)|~{3,})[ \t]*(.*)(?=\n)/,
    ([, fence = '', info = '']) => ({ kind: 'fence', fence, info: info.trimEnd() }),
  ],
  [/^([-*_])(?:[ \t]*\1){2,}[ \t]*(?=\n)/, () => ({ kind: 'rule' })],
  // Five blanks are one separator and four of an indented code block.
  [/^(([-+*]|(\d{1,9})[.)])(?:[ \t]*(?=(\n))|[ \t]{1,4}(?![ \t])|[ \t]))(\[[ xX]\][ \t])?/, readItem],
  [
    /^(\|.*)\n[ \t>]*((?:\|[ \t]*:?-+:?[ \t]*)+)\|?[ \t]*(?=\n)/,
    ([, head = '', divider = '']) => ({
      kind: 'table',
      head,
      aligns: (divider.match(/:?-+:?/g) ?? []).map(alignOf),
    }),
  ],
]

function readItem([, whole = '', marker = '', number, lineEnd, task]: Groups): Item {
  return {
    kind: 'item',
    mark: marker.slice(-1),
    number: number === undefined ? undefined : Number(number),
    width: lineEnd ? marker.length + 1 : whole.length,
    isEmpty: lineEnd !== undefined,
    isDone: task === undefined ? undefined : task[1] !== ' ',
  }
}

function alignOf(dashes: string): Align {
  if (!dashes.endsWith(':')) return 'left'
  return dashes.startsWith(':') ? 'center' : 'right'
}

/**
 * Reads the start of a line after its indentation. Undefined if more text is needed, so that the
 * result does not depend on how the text is split. `text` may extend past the line: a table can
 * only be recognized by its second line.
 */
export function readStart(text: string): Start | undefined {
  const held = text.slice(0, maxHeld)
  if (held.length < maxHeld && undecided.test(held)) return undefined
  for (const [pattern, read] of kinds) {
    const found = pattern.exec(held)
    if (found) return { ...read(found), size: found[0].length }
  }
  return plain
}

/**
 * Reads the line that closes a fence. Returns its length, 0 if it is another line, undefined if
 * more text is needed.
 */
export function readClosing(text: string, fence: string): number | undefined {
  const held = text.slice(0, maxHeld)
  const [all = '', run = '', lineEnd] = /^(`*|~*)[ \t]*(\n|$)/.exec(held) ?? []
  if (lineEnd === '' && held.length < maxHeld) return undefined
  return lineEnd === '\n' && run.startsWith(fence) ? all.length - 1 : 0
}
