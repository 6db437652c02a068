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
  invisible,
  lineMarks,
  link,
  matchAt,
  rule,
  tag,
  target,
} from './patterns.ts'
import type { SpeechWriter } from './speech-writer.ts'

const space = /\s/
const wordlike = /[\p{L}\p{N}]/u
const digit = /\d/
/** Entities that `decodeEntities` does not handle, each followed by its character. */
const letters =
  'ensp\u2002 emsp\u2003 thinsp\u2009 shy\u00ad laquo« raquo» divide÷ frac12½ frac14¼ pound£ yen¥ cent¢ sect§ para¶ ' +
  'szligß aumlä oumlö uumlü AumlÄ OumlÖ UumlÜ eacuteé egraveè agraveà ccedilç ntildeñ'
const extraEntities = new Map(letters.split(' ').map((pair) => [`&${pair.slice(0, -1)};`, pair.slice(-1)]))
/** Everything else is read literally. */
const special =
  /[\s\\`<&![\]【*_~|#hwHW\u2190-\u2bff\u3030\u303d\u3297\u3299\ud800-\udfff]|\p{Cc}|\u00ad|\u200b|\u2060|\ufe0e|\ufe0f|\u20e3/u

export interface InlineOptions {
  /** The text is at the start of a line. */
  readonly startsLine: boolean
  /** The text is a table row with bars between its cells. */
  readonly cells: boolean
  readonly markdown: 'skip' | 'read'
  readonly links: 'skip' | 'read'
  readonly emoji: 'skip' | 'read'
}

/**
 * Writes what is read aloud of a text. Delimiters are dropped one by one, without looking for their
 * counterparts, which may be in another sentence.
 */
export function readAloud(text: string, writer: SpeechWriter, options: InlineOptions): void {
  const { startsLine, cells } = options
  const readsMarks = options.markdown === 'read'
  /** The ends of link targets, by the end of the link text. */
  const linkEnds = new Map<number, number>()
  let at = startsLine ? afterLineMarks(0) : 0

  function afterLineMarks(start: number): number {
    return readsMarks ? start : skipLineMarks(text, start)
  }

  /** The end of a match, or 0. */
  const endOf = (match: RegExpExecArray | null) => (match ? at + match[0].length : 0)

  function step(char: string): number {
    if (space.test(char)) {
      writer.gap(at)
      return char === '\n' ? afterLineMarks(at + 1) : at + 1
    }
    const jump = linkEnds.get(at)
    if (jump) return readTarget(jump)
    if (readsMarks && !(char === '|' && cells)) return readAddress() || readEmoji()
    switch (char) {
      case '\\':
        return readEscape()
      case '`':
        return readCode()
      case '<':
        return readTag()
      case '&':
        return readEntity()
      case '!':
      case '[':
        return readLink(char)
      case '【':
        return endOf(matchAt(footnote, text, at))
      case ']':
        return endOf(matchAt(target, text, at))
      case '*':
      case '_':
      case '~':
        return readMarks(char)
      case '#':
        return space.test(text.charAt(at - 1)) ? endOf(matchAt(headingEnd, text, at)) : 0
      case '|':
        if (cells) writer.comma(at)
        return cells ? at + 1 : 0
      default:
        return readAddress() || readEmoji()
    }
  }

  /** Skips or reads the target of a link. */
  function readTarget(end: number): number {
    const [, before = '', address] = /^(\]\(\s*)([^\s()]+)/.exec(text.slice(at, end)) ?? []
    if (options.links === 'read' && address !== undefined) {
      writer.gap(at)
      writer.write(address, at + before.length)
    }
    return end
  }

  function readEscape(): number {
    if (!matchAt(escaping, text, at)) return 0
    writer.write(text.charAt(at + 1), at + 1)
    return at + 2
  }

  /** CommonMark 6.1: the content of a code span is not Markdown. */
  function readCode(): number {
    const fence = matchAt(backticks, text, at)?.[0] ?? ''
    const from = at + fence.length
    let close = text.indexOf(fence, from)
    while (close >= 0 && text[close + fence.length] === '`') {
      const longer = matchAt(backticks, text, close)?.[0].length ?? 1
      close = text.indexOf(fence, close + longer)
    }
    if (close < 0) return from
    for (let index = from; index < close; index++) {
      if (space.test(text.charAt(index))) writer.gap(index)
      else writer.write(text.charAt(index), index)
    }
    return close + fence.length
  }

  function readTag(): number {
    const hidden = endOf(matchAt(comment, text, at))
    if (hidden) return hidden
    const auto = matchAt(autolink, text, at)
    if (auto) {
      const written = auto[1] ?? ''
      const from = at + 1 + (written.startsWith('mailto:') ? 7 : 0)
      if (!readHost(from, at + 1 + written.length))
        writer.write(text.slice(from, at + 1 + written.length), from)
      return endOf(auto)
    }
    const found = matchAt(tag, text, at)
    if (found && breakingTag.test(found[0])) writer.gap(at)
    return endOf(found)
  }

  function readEntity(): number {
    const match = matchAt(entity, text, at)
    const decodedText = match ? (extraEntities.get(match[0]) ?? decodeEntities(match[0])) : ''
    if (!match || decodedText === match[0]) return 0
    if (space.test(decodedText)) writer.gap(at)
    else if (!matchAt(invisible, decodedText, 0)) for (const unit of decodedText) writer.write(unit, at)
    return endOf(match)
  }

  function readLink(char: string): number {
    if (char === '!') return endOf(matchAt(image, text, at))
    const note = endOf(matchAt(footnote, text, at))
    if (note) return note
    const before = text.charAt(at - 1)
    const cited =
      before && !space.test(before) && !wordlike.test(before) ? endOf(matchAt(citation, text, at)) : 0
    if (cited) return cited
    const match = matchAt(link, text, at)
    // The link text may continue in the next sentence.
    if (!match) return text.indexOf(']', at) < 0 ? at + 1 : 0
    linkEnds.set(at + 1 + (match[1]?.length ?? 0), endOf(match))
    return at + 1
  }

  function readMarks(mark: string): number {
    let end = at
    while (text[end] === mark) end++
    const [before, after] = [text.charAt(at - 1), text.charAt(end)]
    const alone = (!before || space.test(before)) && (!after || space.test(after))
    const inside =
      mark === '_'
        ? wordlike.test(before) && wordlike.test(after)
        : mark === '*' && digit.test(before) && digit.test(after)
    if (alone || inside || (mark === '~' && end - at < 2)) {
      writer.write(text.slice(at, end), at)
    }
    return end
  }

  /** Reads only the host of a URL. */
  function readAddress(): number {
    const match = wordlike.test(text.charAt(at - 1)) ? null : matchAt(address, text, at)
    if (!match) return 0
    const written = match[0].replace(/[.,;:!?…)\]}'"_~]+$/, '')
    return readHost(at, at + written.length)
  }

  /** Writes the host of a URL and returns the end of the URL, or 0. */
  function readHost(from: number, to: number): number {
    if (options.links === 'read') return 0
    const match = /^(?:https?:\/\/(?:[^/?#\s]*@)?)?(?:www\.)?(?=[^/?#:\s])/i.exec(text.slice(from, to))
    if (!match?.[0]) return 0
    const start = from + match[0].length
    const host = /^[^/?#:\s]+/.exec(text.slice(start, to))?.[0] ?? ''
    writer.write(host, start)
    return to
  }

  function readEmoji(): number {
    const found = endOf(matchAt(emoji, text, at))
    if (!found) return endOf(matchAt(invisible, text, at))
    if (options.emoji === 'read') writer.write(text.slice(at, found), at)
    else writer.omit(at)
    return found
  }

  while (at < text.length) {
    const char = text.charAt(at)
    const next = special.test(char) || linkEnds.has(at) ? step(char) : 0
    if (!next) writer.write(char, at)
    at = next || at + 1
  }
}

/** The position after the markup at the start of a line. */
function skipLineMarks(text: string, at: number): number {
  const whole = matchAt(rule, text, at) ?? matchAt(definition, text, at)
  return at + (whole ?? matchAt(lineMarks, text, at) ?? [''])[0].length
}
