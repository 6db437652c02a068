import { decodeEntities } from './entities.ts'

interface Link {
  /** One that `safeAddress` let pass. */
  readonly href: string
  readonly title: string
  /** What it shows: this as it is, and the label as it is read. */
  readonly text: string
  readonly label: string
  /** How much of what was read is the link. */
  readonly size: number
}

/** 0 is none; undefined means that it is not certain yet. */
export type Found = Link | 0 | undefined

/** More than anybody nests: without a limit each of many brackets would look as far as it may for its end. */
const maxDepth = 8

const allowed = /^(?:https?:\/\/[^/]|mailto:.)/i
const escaped = /\\([!-/:-@[-`{-~])/g
const target = /^\s*<?(\S*?)>?(?:\s+["'(]([^"]*)["')])?\s*$/
const word = /^[^\s<>"`|\\^{}\u3000-\u303f\uff00-\uffef]*/

/**
 * The address as a link may have it, or undefined. Only what begins with `http://`, `https://` or `mailto:` when it is written out
 * in full passes, and only if the browser's own parser reads it so too: that one skips tabs and newlines that we would not.
 */
function safeAddress(written: string): string | undefined {
  const address = decodeEntities(written.replace(escaped, '$1'))
  if (/\s/.test(address) || !allowed.test(address) || !URL.canParse(address)) return undefined
  const { href } = new URL(address)
  return allowed.test(href) ? href : undefined
}

function linkTo(address: string, size: number, text = address, label = '', title = ''): Found {
  const href = safeAddress(address)
  if (href === undefined) return 0
  return { href, title: title === '' ? href : `${href} (${title})`, text, label, size }
}

/** Reads `[label](address "title")`. An image, with a `!` before, becomes a link too: to load it would tell its server. */
export function readLink(text: string): Found {
  const open = text[0] === '!' ? 1 : 0
  const close = text[open] === '[' ? closing(text, open, ']') : 0
  if (close === undefined || close + 1 === text.length) return undefined
  const end = close > 0 && text[close + 1] === '(' ? closing(text, close + 1, ')') : 0
  if (end === undefined || end === 0) return end
  const [, address = '', title] = target.exec(text.slice(close + 2, end)) ?? []
  const label = text.slice(open + 1, close)
  const shown = (open > 0 ? 'image: ' : '') + (label === '' ? address : '')
  return linkTo(address, end + 1, shown, label, title)
}

/** Where the bracket at `at` is closed, past those inside that belong to each other. 0 if it is not, undefined to wait. */
function closing(text: string, at: number, close: string): number | undefined {
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
export function readAngled(text: string): Found {
  const [, address] = /^<([hm][^\s<>]*)>/i.exec(text) ?? []
  if (address !== undefined) return linkTo(address, address.length + 2)
  return /^<(?:[hm][^\s<>]*)?$/i.test(text) ? undefined : 0
}

/** Reads an address that is written out as it is, without the punctuation behind it. */
export function readUrl(text: string): Found {
  const [url = ''] = word.exec(text) ?? []
  const isUrl = /^https?:\/\//i.test(url)
  if (url.length === text.length && (isUrl || /^h[tps:/]*$/i.test(url))) return undefined
  const bare = withoutTail(url)
  return isUrl ? linkTo(bare, bare.length) : 0
}

// As in GitHub's extended autolinks, section 6.9: a closing bracket belongs to the address if it has an opening one.
function withoutTail(url: string): string {
  const bare = url.replace(/[?!.,:;*_~'"\]]+$/, '')
  const isSurplus = bare.endsWith(')') && bare.split(')').length > bare.split('(').length
  return isSurplus ? withoutTail(bare.slice(0, -1)) : bare
}
