import { sentences, splitSentences } from '@millrace/voice'

/** One way to make sentences of a text. What is given are sentences without the space around them, none of them empty. */
export interface Splitter {
  readonly name: string
  readonly title: string
  /** Of a text that is there as a whole. */
  split(text: string): string[]
  /** Of one that comes piece by piece. */
  stream(): SplitterStream
}

export interface SplitterStream {
  /** Finds the sentences that are certain by this piece. */
  push(piece: string): void
  /** All of them. */
  end(): string[] | Promise<string[]>
}

const plain = (all: readonly string[]) => all.map((text) => text.trim()).filter((text) => text !== '')

const ours: Splitter = {
  name: 'ours',
  title: 'Millrace',
  split: (text) => splitSentences(text),
  stream() {
    const splitter = sentences()
    const all: string[] = []
    const keep = (found: readonly { readonly source: string }[]) => {
      for (const { source } of found) all.push(source)
    }
    return {
      push: (piece) => keep(splitter.push(piece)),
      end() {
        keep(splitter.flush())
        return plain(all)
      },
    }
  },
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
const segmentsOf = (text: string) => Array.from(segmenter.segment(text), ({ segment }) => segment)

/** Of what has not been given yet: all but the last segment, which may go on, are certain. */
const segmenterOverRest: Splitter = {
  name: 'rest',
  title: 'Intl.Segmenter over what is left',
  split: (text) => plain(segmentsOf(text)),
  stream() {
    const all: string[] = []
    let rest = ''
    return {
      push(piece) {
        rest += piece
        const found = segmentsOf(rest)
        rest = found.pop() ?? ''
        all.push(...found)
      },
      end: () => plain([...all, rest]),
    }
  },
}

/** The text is all that has to be remembered. */
const segmenterOverAll: Splitter = {
  name: 'all',
  title: 'Intl.Segmenter over all that has come',
  split: (text) => plain(segmentsOf(text)),
  stream() {
    let text = ''
    let found: string[] = []
    return {
      push(piece) {
        text += piece
        found = segmentsOf(text)
      },
      end: () => plain(found),
    }
  },
}

export const splitters: readonly Splitter[] = [ours, segmenterOverRest, segmenterOverAll]
