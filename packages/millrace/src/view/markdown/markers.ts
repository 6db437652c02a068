import type { Sink } from './sink.ts'

interface Mark {
  readonly char: string
  readonly size: 1 | 2
  readonly at: number
}

/** How long a link, code or an emphasis may be: until its end has come, all that is behind its beginning may change its looks. */
export const maxHeld = 2000

/** More than anybody nests: without a limit a long row of stars would make a tree as deep. */
const maxDepth = 12
/** A longer run means nothing. */
const maxRun = 7
const space = /^$|\s/
const punctuation = /[\p{P}\p{S}]/u
const word = /[A-Za-z\d]/

/**
 * Emphasis, as CommonMark 0.31 has it in section 6.2, but for what cannot be known while the text is still coming: a mark that
 * can open does, at once, and if its end never comes it is undone. Two things differ on purpose. Stars between two letters or digits
 * open nothing (`2*3*4` is no emphasis), and `**` closes also between a punctuation mark and a letter, as it must in languages
 * that put no blanks there.
 */
export function markers(sink: Sink) {
  const open: Mark[] = []

  /** Takes back those above `depth`. */
  function undo(depth: number): void {
    for (const { char, size } of open.splice(depth).reverse()) sink.undo(char.repeat(size))
  }

  /** Closes what a run can close, and says how much of it is left. */
  function closeAll(char: string, run: number, canOpen: boolean): number {
    let left = run
    while (left > 0) {
      const innermost = open.findLastIndex((mark) => mark.char === char)
      const exact =
        left < 3 ? open.findLastIndex((mark) => mark.char === char && mark.size === left) : innermost
      const index = exact >= 0 || canOpen ? exact : innermost
      const size = open[index]?.size
      if (size === undefined || size > left) break
      undo(index + 1)
      open.pop()
      sink.close()
      left -= size
    }
    return left
  }

  function openNew(char: string, run: number, at: number): number {
    let left = run
    while (left > 0 && open.length < maxDepth) {
      // An odd one is outside: `***a** b*` closes the two first.
      const size = left % 2 === 1 ? 1 : 2
      sink.open(char === '~' ? 's' : size === 2 ? 'strong' : 'em')
      open.push({ char, size, at })
      left -= size
    }
    return left
  }

  return {
    /** A run of `size` times `char` at a place, and the characters on both sides of it: an empty string where there is none. */
    read(char: string, size: number, previous: string, next: string, at: number): void {
      const [spaceBefore, spaceAfter] = [space.test(previous), space.test(next)]
      const [pointBefore, pointAfter] = [punctuation.test(previous), punctuation.test(next)]
      const isLeft = !spaceAfter && (!pointAfter || spaceBefore || pointBefore)
      const isRight = !spaceBefore && (!pointBefore || spaceAfter || pointAfter)
      const isInWord = word.test(previous) && word.test(next)
      const canOpen = isLeft && !isInWord && (char !== '_' || !isRight || pointBefore)
      const canClose =
        char === '_' ? isRight && (!isLeft || pointAfter) : isRight || (size === 2 && !spaceBefore)
      let left = size
      if (char === '~' ? size === 2 : size <= maxRun) {
        if (canClose) left = closeAll(char, left, canOpen)
        if (canOpen) left = openNew(char, left, at)
      }
      sink.text(char.repeat(left))
    },

    /** Takes back an emphasis that has not ended before this place, and is too long, with those inside it. */
    giveUp(at: number): void {
      if (open[0] && at - open[0].at > maxHeld) undo(0)
    },
    end: () => undo(0),
  }
}
