import { decodeEntities } from 'millrace/internal'
import {
  address,
  autolink,
  backticks,
  breakingTag,
  citation,
  comment,
  definition,
  emoji,
  entity,
  escaping,
  footnote,
  headingEnd,
  image,
  lineMarks,
  link,
  matchAt,
  rule,
  tag,
  target,
  unheard,
} from './patterns.ts'
import type { Words } from './words.ts'

const space = /\s/
const wordlike = /[\p{L}\p{N}]/u
const digit = /\d/
/** Entities that are met in texts and that the page leaves as they are, each before its character. */
const letters =
  'ensp\u2002 emsp\u2003 thinsp\u2009 shy\u00ad laquo« raquo» divide÷ frac12½ frac14¼ pound£ yen¥ cent¢ sect§ para¶ ' +
  'szligß aumlä oumlö uumlü AumlÄ OumlÖ UumlÜ eacuteé egraveè agraveà ccedilç ntildeñ'
const further = new Map(letters.split(' ').map((pair) => [`&${pair.slice(0, -1)};`, pair.slice(-1)]))
/** Everything else is read as it stands. */
const special =
  /[\s\\`<&![\]【*_~|#hwHW\u2190-\u2bff\u3030\u303d\u3297\u3299\ud800-\udfff]|\p{Cc}|\u00ad|\u200b|\u2060|\ufe0e|\ufe0f|\u20e3/u

export interface InlineOptions {
  /** The text begins a line. */
  readonly ownLine: boolean
  /** A bar stands between the cells of a table. */
  readonly cells: boolean
  readonly markdown: 'skip' | 'read'
  readonly links: 'skip' | 'read'
  readonly emoji: 'skip' | 'read'
}

/**
 * Writes down what is read aloud of a text. Marks vanish one by one, without looking for their other half: that may be in
 * another sentence, which has been spoken or is still to come.
 */
export function readAloud(text: string, words: Words, options: InlineOptions): void {
  const { ownLine, cells } = options
  const readsMarks = options.markdown === 'read'
  /** Where the text of a link ends, and its target with it. */
  const ends = new Map<number, number>()
  let at = ownLine ? behindLineMarks(0) : 0

  function behindLineMarks(begin: number): number {
    return readsMarks ? begin : skipLineMarks(text, begin)
  }

  /** Takes a match, and gives the place behind it. */
  const behind = (match: RegExpExecArray | null) => (match ? at + match[0].length : 0)

  function step(char: string): number {
    if (space.test(char)) {
      words.gap(at)
      return char === '\n' ? behindLineMarks(at + 1) : at + 1
    }
    const jump = ends.get(at)
    if (jump) return aimed(jump)
    if (readsMarks && !(char === '|' && cells)) return located() || pictured()
    switch (char) {
      case '\\':
        return escaped()
      case '`':
        return code()
      case '<':
        return bracketed()
      case '&':
        return decoded()
      case '!':
      case '[':
        return linked(char)
      case '【':
        return behind(matchAt(footnote, text, at))
      case ']':
        return behind(matchAt(target, text, at))
      case '*':
      case '_':
      case '~':
        return marked(char)
      case '#':
        return space.test(text.charAt(at - 1)) ? behind(matchAt(headingEnd, text, at)) : 0
      case '|':
        if (cells) words.comma(at)
        return cells ? at + 1 : 0
      default:
        return located() || pictured()
    }
  }

  /** Behind the target of a link. */
  function aimed(end: number): number {
    const [, before = '', address] = /^(\]\(\s*)([^\s()]+)/.exec(text.slice(at, end)) ?? []
    if (options.links === 'read' && address !== undefined) {
      words.gap(at)
      words.write(address, at + before.length)
    }
    return end
  }

  function escaped(): number {
    if (!matchAt(escaping, text, at)) return 0
    words.write(text.charAt(at + 1), at + 1)
    return at + 2
  }

  /** CommonMark 6.1: the content of code is no Markdown. */
  function code(): number {
    const fence = matchAt(backticks, text, at)?.[0] ?? ''
    const from = at + fence.length
    let close = text.indexOf(fence, from)
    while (close >= 0 && text[close + fence.length] === '`') {
      const longer = matchAt(backticks, text, close)?.[0].length ?? 1
      close = text.indexOf(fence, close + longer)
    }
    if (close < 0) return from
    for (let place = from; place < close; place++) {
      if (space.test(text.charAt(place))) words.gap(place)
      else words.write(text.charAt(place), place)
    }
    return close + fence.length
  }

  function bracketed(): number {
    const hidden = behind(matchAt(comment, text, at))
    if (hidden) return hidden
    const auto = matchAt(autolink, text, at)
    if (auto) {
      const written = auto[1] ?? ''
      const from = at + 1 + (written.startsWith('mailto:') ? 7 : 0)
      if (!hostOf(from, at + 1 + written.length)) words.write(text.slice(from, at + 1 + written.length), from)
      return behind(auto)
    }
    const found = matchAt(tag, text, at)
    if (found && breakingTag.test(found[0])) words.gap(at)
    return behind(found)
  }

  function decoded(): number {
    const match = matchAt(entity, text, at)
    const means = match ? (further.get(match[0]) ?? decodeEntities(match[0])) : ''
    if (!match || means === match[0]) return 0
    if (space.test(means)) words.gap(at)
    else if (!matchAt(unheard, means, 0)) for (const unit of means) words.write(unit, at)
    return behind(match)
  }

  function linked(char: string): number {
    if (char === '!') return behind(matchAt(image, text, at))
    const note = behind(matchAt(footnote, text, at))
    if (note) return note
    const before = text.charAt(at - 1)
    const cited =
      before && !space.test(before) && !wordlike.test(before) ? behind(matchAt(citation, text, at)) : 0
    if (cited) return cited
    const match = matchAt(link, text, at)
    // The text of a link that goes on in the next sentence.
    if (!match) return text.indexOf(']', at) < 0 ? at + 1 : 0
    ends.set(at + 1 + (match[1]?.length ?? 0), behind(match))
    return at + 1
  }

  function marked(mark: string): number {
    let end = at
    while (text[end] === mark) end++
    const [before, after] = [text.charAt(at - 1), text.charAt(end)]
    const alone = (!before || space.test(before)) && (!after || space.test(after))
    const inside =
      mark === '_'
        ? wordlike.test(before) && wordlike.test(after)
        : mark === '*' && digit.test(before) && digit.test(after)
    if (alone || inside || (mark === '~' && end - at < 2)) {
      words.write(text.slice(at, end), at)
    }
    return end
  }

  /** An address is long and says little: its host is enough. */
  function located(): number {
    const match = wordlike.test(text.charAt(at - 1)) ? null : matchAt(address, text, at)
    if (!match) return 0
    const written = match[0].replace(/[.,;:!?…)\]}'"_~]+$/, '')
    return hostOf(at, at + written.length)
  }

  /** Says the host of the address there. Gives where it ends; 0 if it is none. */
  function hostOf(from: number, to: number): number {
    if (options.links === 'read') return 0
    const match = /^(?:https?:\/\/(?:[^/?#\s]*@)?)?(?:www\.)?(?=[^/?#:\s])/i.exec(text.slice(from, to))
    if (!match?.[0]) return 0
    const start = from + match[0].length
    const host = /^[^/?#:\s]+/.exec(text.slice(start, to))?.[0] ?? ''
    words.write(host, start)
    return to
  }

  function pictured(): number {
    const found = behind(matchAt(emoji, text, at))
    if (!found) return behind(matchAt(unheard, text, at))
    if (options.emoji === 'read') words.write(text.slice(at, found), at)
    else words.omit(at)
    return found
  }

  while (at < text.length) {
    const char = text.charAt(at)
    const next = special.test(char) || ends.has(at) ? step(char) : 0
    if (!next) words.write(char, at)
    at = next || at + 1
  }
}

/** Behind the marks at the beginning of a line. */
function skipLineMarks(text: string, at: number): number {
  const whole = matchAt(rule, text, at) ?? matchAt(definition, text, at)
  return at + (whole ?? matchAt(lineMarks, text, at) ?? [''])[0].length
}
