import { versionOf } from '../report/versions.ts'
import type { Splitter } from './splitters.ts'

// A peer whose package brings WebRTC, image codecs and more along, 280 MB in all: it is measured where somebody has installed it.

const name = '@livekit/agents'
export const howToInstall = `npm install --prefix bench --no-save ${name}`

/** As far as it is used here. */
interface Agents {
  readonly tokenize: {
    readonly basic: {
      readonly SentenceTokenizer: new (options: {
        minSentenceLength: number
        streamContextLength: number
      }) => SentenceTokenizer
    }
  }
}

interface SentenceTokenizer {
  tokenize(text: string): string[]
  stream(): AsyncIterableIterator<{ readonly token: string }> & {
    pushText(text: string): void
    endInput(): void
  }
}

export const livekitVersion = () => versionOf(name)

/** Undefined if it is not there. Short sentences stay alone, as with the others. */
export async function livekit(): Promise<Splitter | undefined> {
  if (livekitVersion() === undefined) return undefined
  const { tokenize }: Agents = await import(name)
  const tokenizer = new tokenize.basic.SentenceTokenizer({ minSentenceLength: 1, streamContextLength: 1 })
  return {
    name: 'livekit',
    title: 'LiveKit, basic sentence tokenizer',
    split: (text) => tokenizer.tokenize(text).map((sentence) => sentence.trim()),
    stream() {
      const stream = tokenizer.stream()
      return {
        push(piece) {
          stream.pushText(piece)
        },
        async end() {
          stream.endInput()
          const all: string[] = []
          for await (const { token } of stream) all.push(token.trim())
          return all
        },
      }
    },
  }
}
