import type { Sink } from './sink.ts'

interface Mark {
  readonly char: string
  readonly size: 1 | 2
  readonly at: number
}

/**
 * The maximum length of a link, code span or emphasis: until its end arrives, everything after its
 * start may change.
 */
export const maxHeld = 2000

/**
 * Deeper than real text nests. Without a limit, a long row of stars would create a tree that deep.
 */
const maxDepth = 12
/** A longer run is plain text. */
const maxRun = 7
const space = /^$|\s/
const punctuation = /[\p{P}\p{S}]/u
const word = /[A-Za-z\d]/

/**
 * Emphasis as in CommonMark 0.31, section 6.2, except for what cannot be known while the text is
 * still arriving: a mark that can open does so at once, and is undone if its end never arrives. Two
 * things differ on purpose. Stars between two letters or digits open nothing (`2*3*4` is not
 * emphasis), and `**` also closes between a punctuation mark and a letter, for languages that put
 * no blanks there.
 */
export function markers(sink: Sink) {
  const open: Mark[] = []

  /** Undoes the open marks above `depth`. */
  function undo(depth: number): void {
    for (const { char, size } of open.splice(depth).reverse()) sink.undo(char.repeat(size))
  }

  /** Closes the marks that a run can close, and returns how much of the run is left. */
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
      // An odd one goes outside: `***a** b*` closes the double mark first.
      const size = left % 2 === 1 ? 1 : 2
      sink.open(char === '~' ? 's' : size === 2 ? 'strong' : 'em')
      open.push({ char, size, at })
      left -= size
    }
    return left
  }

  return {
    /**
     * Reads a run of `size` times `char`. `previous` and `next` are the characters around it, or
     * empty strings.
     */
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

    /** Undoes an emphasis that is still open here and too long, with all marks inside it. */
    giveUp(at: number): void {
      if (open[0] && at - open[0].at > maxHeld) undo(0)
    },
    end: () => undo(0),
  }
}
