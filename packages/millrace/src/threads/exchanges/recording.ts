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

/** One model call, as much as is known of it. */
export interface Recording {
  readonly observer: CallObserver
  /** As it is now. */
  snapshot(): Exchange
}

/** How much is kept of a body, and of an answer. */
const mostChars = 4 * 1024 * 1024

/** `onSettled` is called when the call has ended, and again whenever something of it comes late. */
export function recordCall(call: ModelCall, onSettled: () => void): Recording {
  const { runId, round, attempt, model, request } = call
  const tools = request.tools.map(({ name }) => name)
  const at = Date.now()
  const begun = performance.now()
  const wires: WireRecord[] = []
  let end: { readonly ms: number; readonly error?: ErrorJson } | undefined
  /** As long as nothing goes over a wire that we know of. */
  let asked: ModelRequest | undefined = request
  let shown: Pick<Exchange, 'request' | 'cut'> | undefined

  function changed() {
    if (end) onSettled()
  }

  return {
    observer: {
      wire: {
        sent(sent) {
          asked = undefined
          wires.push(wireRecord(sent))
          changed()
        },
        answered(answer) {
          wires.at(-1)?.answered(answer)
          changed()
        },
        received(text) {
          wires.at(-1)?.received(text)
          changed()
        },
      },
      end({ error }) {
        end = { ms: Math.round(performance.now() - begun), ...(error && { error: error.toJSON() }) }
        onSettled()
      },
    },
    snapshot() {
      if (asked) shown ??= showRequest(asked)
      return {
        runId,
        round,
        attempt,
        model: model.id,
        provider: model.provider,
        at,
        ...end,
        tools,
        ...(asked && shown),
        wire: wires.map((wire) => wire.snapshot()),
      }
    },
  }
}

type Answered = Parameters<WireListener['answered']>[0]

interface WireRecord {
  answered(answer: Answered): void
  received(text: string): void
  snapshot(): WireExchange
}

function wireRecord({ url, headers, body }: Parameters<WireListener['sent']>[0]): WireRecord {
  const kept = beginningOf(body, mostChars)
  let cut = kept.length < body.length
  let answer: Answered | undefined
  /** Joined when somebody wants to see it: a drip of words costs no more. */
  let pieces: string[] = []
  let left = mostChars
  return {
    answered(given) {
      answer = given
    },
    received(text) {
      const piece = beginningOf(text, left)
      if (piece) pieces.push(piece)
      // Nothing is to follow what was cut.
      left = piece.length < text.length ? 0 : left - piece.length
      cut ||= piece.length < text.length
    },
    snapshot() {
      pieces = [pieces.join('')]
      return {
        url,
        headers,
        body: kept,
        ...(answer && { status: answer.status, answerHeaders: answer.headers, answer: pieces[0] ?? '' }),
        ...(cut && { cut }),
      }
    },
  }
}

/** At most so many characters, and no half of one that takes two. */
function beginningOf(text: string, most: number): string {
  if (text.length <= most) return text
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[most - 1] ?? '') ? most - 1 : most)
}

function showRequest(request: ModelRequest): Pick<Exchange, 'request' | 'cut'> {
  try {
    const shown = withoutRequestSecrets(request)
    return JSON.stringify(shown).length <= mostChars ? { request: shown } : { cut: true }
  } catch {
    // What cannot be written as JSON cannot be shown.
    return {}
  }
}
