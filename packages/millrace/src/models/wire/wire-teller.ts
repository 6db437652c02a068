import type { WireListener } from '../../protocol/index.ts'
import type { HttpAnswer } from './http-answer.ts'
import { secretRemover, withoutBegunSecret, withoutSecretHeaders, withoutSecretQuery } from './secrets.ts'

/** Tells a listener what goes over the wire, after the secrets are taken out. */
export interface WireTeller {
  sent(request: Parameters<WireListener['sent']>[0]): void
  /** Gives the same answer, which tells as it is read. */
  answered(answer: HttpAnswer): HttpAnswer
}

export function wireTeller(wire: WireListener, secrets: readonly string[]): WireTeller {
  const clean = secretRemover(secrets)
  return {
    sent({ url, headers, body }) {
      wire.sent({
        url: withoutSecretQuery(url, clean),
        headers: withoutSecretHeaders(Object.entries(headers), clean),
        body: clean(body),
      })
    },
    answered(answer) {
      wire.answered({ status: answer.status, headers: withoutSecretHeaders(answer.headers, clean) })
      const text = cleanLines(clean, secrets, (text) => wire.received(text))
      return {
        ...answer,
        async read() {
          let bytes: Uint8Array | undefined
          try {
            bytes = await answer.read()
          } finally {
            // Broken off or at its end: what was held back is all there will be.
            if (!bytes) text.end()
          }
          if (bytes) text.push(bytes)
          return bytes
        },
        close() {
          text.end()
          answer.close()
        },
      }
    },
  }
}

/**
 * Passes on whole lines. A key that the provider quotes may come in two reads, but never with a line break in it, so that it is found
 * as soon as its line is whole, and nobody sees the first half of it before.
 */
function cleanLines(
  clean: (text: string) => string,
  secrets: readonly string[],
  onText: (text: string) => void,
) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let pieces: string[] = []
  return {
    push(bytes: Uint8Array) {
      const text = decoder.decode(bytes, { stream: true })
      const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
      if (end === 0) return void pieces.push(text)
      const lines = pieces.join('') + text.slice(0, end)
      pieces = [text.slice(end)]
      onText(clean(lines))
    },
    /** May be called again. */
    end() {
      const rest = pieces.join('') + decoder.decode()
      pieces = []
      if (rest) onText(withoutBegunSecret(clean(rest), secrets))
    },
  }
}
