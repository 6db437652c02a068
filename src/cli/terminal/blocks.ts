/** What a line of Markdown is, known from its beginning. `text` is what is left of it. */
export type Block =
  | { readonly type: 'text'; readonly quotes: number; readonly indent: number; readonly text: string }
  | { readonly type: 'heading'; readonly quotes: number; readonly level: number; readonly text: string }
  | {
      readonly type: 'item'
      readonly quotes: number
      readonly indent: number
      readonly marker: string
      readonly text: string
    }
  | { readonly type: 'fence'; readonly fence: string; readonly language: string }
  | { readonly type: 'rule' | 'row' }

/** A beginning that says nothing for so long is text. */
const longestStart = 200

const quote = /^ {0,3}>( ?)/
const fenced = /^\s*(`{3,}|~{3,})([^`]*)$/
const rule = /^\s*([-*_])(?:\s*\1)*\s*$/
const item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)/
const heading = /^ {0,3}(#{1,6})\s+(?=\S)/

/** Beginnings that more text could make into something: white, and marks with nothing behind them. */
const undecided = /^\s*(?:#{1,6}\s*|[-*+]\s*|\d{1,9}(?:[.)]\s*)?|`+|~+)?$/

/**
 * Says what a line is, as soon as that is certain; undefined before. `ended` says that there is no more of it.
 * The whole of a fence or a rule has to be seen: it is known at its end.
 */
export function readBlock(line: string, ended: boolean): Block | undefined {
  const { quotes, rest } = readQuotes(line)
  if (line.length >= longestStart) {
    if (isUndecided(readQuotes(line.slice(0, longestStart)).rest)) return textBlock(quotes, rest)
  } else if (ended) {
    const fence = fenced.exec(rest)
    if (fence && quotes === 0) {
      const [, marks = '', language = ''] = fence
      return { type: 'fence', fence: marks, language: language.trim() }
    }
    if (rule.test(rest) && quotes === 0 && rest.replace(/\s/g, '').length > 2) return { type: 'rule' }
  } else if (isUndecided(rest)) return undefined
  if (/^\s*\|/.test(rest) && quotes === 0) return { type: 'row' }
  const title = heading.exec(rest)
  if (title)
    return { type: 'heading', quotes, level: title[1]?.length ?? 1, text: rest.slice(title[0].length) }
  const listed = item.exec(rest)
  if (listed) {
    const [start, indent = '', marker = ''] = listed
    return { type: 'item', quotes, indent: columnsOf(indent), marker, text: rest.slice(start.length) }
  }
  return textBlock(quotes, rest)
}

function textBlock(quotes: number, line: string): Block {
  const text = line.trimStart()
  return { type: 'text', quotes, indent: columnsOf(line.slice(0, line.length - text.length)), text }
}

function readQuotes(line: string): { quotes: number; rest: string } {
  let rest = line
  let quotes = 0
  for (let match = quote.exec(rest); match; match = quote.exec(rest)) {
    quotes++
    rest = rest.slice(match[0].length)
  }
  return { quotes, rest }
}

function isUndecided(rest: string): boolean {
  return undecided.test(rest) || rule.test(rest) || fenced.test(rest)
}

function columnsOf(indent: string): number {
  return indent.replaceAll('\t', '    ').length
}

/** Whether a line ends the code that a fence has begun; undefined if more of it has to be seen. */
export function endsFence(line: string, fence: string, ended: boolean): boolean | undefined {
  const marks = line.trim()
  const like = marks === '' || (marks.startsWith(fence.charAt(0)) && new Set(marks).size === 1)
  if (!like || line.length >= longestStart) return false
  return ended ? marks.length >= fence.length : undefined
}
