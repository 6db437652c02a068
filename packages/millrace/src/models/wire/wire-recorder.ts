import type { WireListener } from '../../protocol/index.ts'
import type { HttpResponse } from './http-response.ts'
import { secretRemover, withoutPartialSecret, withoutSecretHeaders, withoutSecretQuery } from './secrets.ts'

/** Reports requests and responses to a listener, without secrets. */
export interface WireRecorder {
  sent(request: Parameters<WireListener['sent']>[0]): void
  /** Returns the same response, which reports its body as it is read. */
  responded(response: HttpResponse): HttpResponse
}

export function wireRecorder(wire: WireListener, secrets: readonly string[]): WireRecorder {
  const clean = secretRemover(secrets)
  return {
    sent({ url, headers, body }) {
      wire.sent({
        url: withoutSecretQuery(url, clean),
        headers: withoutSecretHeaders(Object.entries(headers), clean),
        body: clean(body),
      })
    },
    responded(response) {
      wire.responded({ status: response.status, headers: withoutSecretHeaders(response.headers, clean) })
      const text = cleanLines(clean, secrets, (text) => wire.received(text))
      const { status, headers, isRedirect, encoding } = response
      return {
        status,
        headers,
        isRedirect,
        encoding,
        async read() {
          let bytes: Uint8Array | undefined
          try {
            bytes = await response.read()
          } finally {
            // The end, or a broken connection: flush what was held back.
            if (!bytes) text.end()
          }
          if (bytes) text.push(bytes)
          return bytes
        },
        close() {
          text.end()
          response.close()
        },
      }
    },
  }
}

/**
 * Passes on whole lines only. A key that the provider quotes may be split across two reads, but has
 * no line break in it, so it is always found in a whole line.
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
    /** May be called more than once. */
    end() {
      const rest = pieces.join('') + decoder.decode()
      pieces = []
      if (rest) onText(withoutPartialSecret(clean(rest), secrets))
    },
  }
}
