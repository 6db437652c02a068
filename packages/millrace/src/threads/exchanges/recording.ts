import { withoutRequestSecrets } from '../../models/index.ts'
import type {
  CallObserver,
  ErrorJson,
  Exchange,
  ModelCall,
  ModelRequest,
  WireExchange,
  WireListener,
} from '../../protocol/index.ts'

/** The recording of one model call. */
export interface Recording {
  readonly observer: CallObserver
  /** The exchange as far as it has come. */
  snapshot(): Exchange
}

/** Limit for a request body, and for a response. */
const maxChars = 4 * 1024 * 1024

/** Calls `onSettled` when the call has ended, and again whenever more of it arrives late. */
export function recordCall(call: ModelCall, onSettled: () => void): Recording {
  const { runId, round, attempt, model, request } = call
  const tools = request.tools.map(({ name }) => name)
  const at = Date.now()
  const startedAt = performance.now()
  const wires: WireRecord[] = []
  let end: { readonly ms: number; readonly error?: ErrorJson } | undefined
  /** Set while nothing has been sent over a wire that is observed. */
  let unsentRequest: ModelRequest | undefined = request
  let shown: Pick<Exchange, 'request' | 'cut'> | undefined

  function changed() {
    if (end) onSettled()
  }

  return {
    observer: {
      wire: {
        sent(sent) {
          unsentRequest = undefined
          wires.push(wireRecord(sent))
          changed()
        },
        responded(answer) {
          wires.at(-1)?.responded(answer)
          changed()
        },
        received(text) {
          wires.at(-1)?.received(text)
          changed()
        },
      },
      end({ error }) {
        end = { ms: Math.round(performance.now() - startedAt), ...(error && { error: error.toJSON() }) }
        onSettled()
      },
    },
    snapshot() {
      if (unsentRequest) shown ??= showRequest(unsentRequest)
      return {
        runId,
        round,
        attempt,
        model: model.id,
        provider: model.provider,
        at,
        ...end,
        tools,
        ...(unsentRequest && shown),
        wire: wires.map((wire) => wire.snapshot()),
      }
    },
  }
}

type WireResponse = Parameters<WireListener['responded']>[0]

interface WireRecord {
  responded(answer: WireResponse): void
  received(text: string): void
  snapshot(): WireExchange
}

function wireRecord({ url, headers, body }: Parameters<WireListener['sent']>[0]): WireRecord {
  const keptBody = truncate(body, maxChars)
  let cut = keptBody.length < body.length
  let answer: WireResponse | undefined
  /** Joined on demand, so that many small pieces cost no more. */
  let pieces: string[] = []
  let left = maxChars
  return {
    responded(given) {
      answer = given
    },
    received(text) {
      const piece = truncate(text, left)
      if (piece) pieces.push(piece)
      // Nothing may follow a cut.
      left = piece.length < text.length ? 0 : left - piece.length
      cut ||= piece.length < text.length
    },
    snapshot() {
      pieces = [pieces.join('')]
      return {
        url,
        headers,
        body: keptBody,
        ...(answer && { status: answer.status, responseHeaders: answer.headers, response: pieces[0] ?? '' }),
        ...(cut && { cut }),
      }
    },
  }
}

/** At most `max` characters, without splitting a surrogate pair. */
function truncate(text: string, max: number): string {
  if (text.length <= max) return text
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[max - 1] ?? '') ? max - 1 : max)
}

function showRequest(request: ModelRequest): Pick<Exchange, 'request' | 'cut'> {
  try {
    const shown = withoutRequestSecrets(request)
    return JSON.stringify(shown).length <= maxChars ? { request: shown } : { cut: true }
  } catch {
    // A request that cannot be serialized cannot be shown.
    return {}
  }
}
