import { decodeEntities } from './entities.ts'

interface Link {
  /** An address that passed `safeAddress`. */
  readonly href: string
  readonly title: string
  /** What it shows: `text` literally, then `label` as inline Markdown. */
  readonly text: string
  readonly label: string
  /** How many characters the link takes. */
  readonly size: number
}

/** 0 means no link; undefined means that more text is needed to decide. */
export type LinkMatch = Link | 0 | undefined

/**
 * Deeper than real text nests. Without a limit, each of many open brackets would search far for its
 * end.
 */
const maxDepth = 8

const allowed = /^(?:https?:\/\/[^/]|mailto:.)/i
const escaped = /\\([!-/:-@[-`{-~])/g
const target = /^\s*<?(\S*?)>?(?:\s+["'(]([^"]*)["')])?\s*$/
const word = /^[^\s<>"`|\\^{}\u3000-\u303f\uff00-\uffef]*/

/**
 * The address if it is safe to link to, or undefined. Only `http://`, `https://` and `mailto:`
 * pass, and only if the browser's own parser agrees: it skips tabs and newlines that we would not.
 */
function safeAddress(written: string): string | undefined {
  const address = decodeEntities(written.replace(escaped, '$1'))
  if (/\s/.test(address) || !allowed.test(address) || !URL.canParse(address)) return undefined
  const { href } = new URL(address)
  return allowed.test(href) ? href : undefined
}

function linkTo(address: string, size: number, text = address, label = '', title = ''): LinkMatch {
  const href = safeAddress(address)
  if (href === undefined) return 0
  return { href, title: title === '' ? href : `${href} (${title})`, text, label, size }
}

/**
 * Reads `[label](address "title")`. An image (`!` in front) becomes a link too: loading it would
 * notify its server.
 */
export function readLink(text: string): LinkMatch {
  const open = text[0] === '!' ? 1 : 0
  const close = text[open] === '[' ? findClosing(text, open, ']') : 0
  if (close === undefined || close + 1 === text.length) return undefined
  const end = close > 0 && text[close + 1] === '(' ? findClosing(text, close + 1, ')') : 0
  if (end === undefined || end === 0) return end
  const [, address = '', title] = target.exec(text.slice(close + 2, end)) ?? []
  const label = text.slice(open + 1, close)
  const shown = (open > 0 ? 'image: ' : '') + (label === '' ? address : '')
  return linkTo(address, end + 1, shown, label, title)
}

/**
 * The index of the bracket that closes the one at `at`, skipping nested pairs. 0 if there is none,
 * undefined to wait.
 */
function findClosing(text: string, at: number, close: string): number | undefined {
  const open = text[at]
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const char = text[i]
    if (char === '\\') i++
    else if (char === open && ++depth > maxDepth) return 0
    else if (char === close && --depth === 0) return i
  }
  return undefined
}

/** Reads `<https://…>`. */
export function readAngled(text: string): LinkMatch {
  const [, address] = /^<([hm][^\s<>]*)>/i.exec(text) ?? []
  if (address !== undefined) return linkTo(address, address.length + 2)
  return /^<(?:[hm][^\s<>]*)?$/i.test(text) ? undefined : 0
}

/** Reads a bare address, without the punctuation after it. */
export function readUrl(text: string): LinkMatch {
  const [url = ''] = word.exec(text) ?? []
  const isUrl = /^https?:\/\//i.test(url)
  if (url.length === text.length && (isUrl || /^h[tps:/]*$/i.test(url))) return undefined
  const bare = withoutTail(url)
  return isUrl ? linkTo(bare, bare.length) : 0
}

// As in GitHub's extended autolinks, section 6.9: a closing bracket is part of the address if it is
// balanced.
function withoutTail(url: string): string {
  const bare = url.replace(/[?!.,:;*_~'"\]]+$/, '')
  const isSurplus = bare.endsWith(')') && bare.split(')').length > bare.split('(').length
  return isSurplus ? withoutTail(bare.slice(0, -1)) : bare
}
