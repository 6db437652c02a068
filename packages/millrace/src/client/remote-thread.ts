import type {
  Answer,
  Entry,
  Exchange,
  ExchangePage,
  ExchangesOptions,
  FollowOptions,
  InputUserMessage,
  SendOptions,
  StateOptions,
  ThreadView,
} from '../protocol/index.ts'
import { invalidInput, isMillraceError, someText, wholeNumber } from '../protocol/index.ts'
import { endable } from './endable.ts'
import { entries } from './follow.ts'
import type { Http } from './http.ts'
import { sayable } from './message.ts'
import { makeThread, uuid } from './new-thread.ts'
import type { ClientOptions, ForkThreadOptions, ReadEntriesOptions, Sockets } from './options.ts'
import { checkFor } from './options.ts'
import type { Transport } from './transport.ts'
import { openVoice } from './voice.ts'
import type { VoiceLine, VoiceLineOptions } from './voice-options.ts'

/**
 * A conversation on a server. Misuse throws `invalid_input` and says how to do it right. Everything else rejects as the server
 * answers (`not_found`, `auth`, `conflict`, `rate_limit`, …), or with `stream_error` or `timeout` when it cannot be reached.
 */
export interface RemoteThread {
  readonly id: string
  /** Says something. Resolves with its number when it is durable. Sent again when an answer is lost, it is still one input. */
  send(message: string | InputUserMessage, options?: SendOptions): Promise<number>
  /**
   * Every entry after a number, each once and none left out, at the reader's pace. Comes back by itself from the last number
   * when a connection is lost. Ends with the signal or the thread.
   */
  follow(options?: FollowOptions): AsyncIterableIterator<Entry, undefined>
  read(options?: ReadEntriesOptions): Promise<readonly Entry[]>
  /** As it is now, with the last messages of the conversation: `earlier` says how many come before, and `before` gets those. */
  state(options?: Pick<StateOptions, 'before'>): Promise<ThreadView>
  /**
   * The model calls of a run as they went over the wire, in order; those under way as far as they have come. Rejects with `auth`
   * if they are not for this client, with `not_found` if the server does not record them.
   */
  exchanges(options: ExchangesOptions): Promise<readonly Exchange[]>
  /** Cancels the current run; what is queued is not answered by itself. Sent again when an answer is lost. */
  stop(reason?: string): Promise<number>
  /** Decides about a call that waits. The same decision twice is one; rejects with `conflict` if it was decided otherwise. */
  approve(callId: string, answer: Answer): Promise<number>
  /** The source of a test that plays the conversation again: what `millrace export --format test` writes. */
  testScript(): Promise<string>
  /** A new thread with the log of this one up to a number. */
  fork(at: number, options?: ForkThreadOptions): Promise<RemoteThread>
  /**
   * Speaks the thread while it is written, and listens, over a WebSocket of its own. Comes back by itself when the connection is lost,
   * and goes on where it was.
   */
  voice(options: VoiceLineOptions): VoiceLine
  /** With everything in it. False if it was not there. */
  delete(): Promise<boolean>
}

export interface RemoteOptions extends Pick<ClientOptions, 'retry' | 'onRetry' | 'onOpen'> {
  readonly http: Http
  readonly sockets: Sockets
  readonly transport: Transport
}

export function remoteThread(id: string, options: RemoteOptions): RemoteThread {
  const { http, sockets, transport, retry = {}, onRetry, onOpen } = options
  const path = `/threads/${id}`

  const post = async (op: string, where: string, body: object) => {
    // An input has its key and a decision its call; a run that was stopped is none the worse for another stop.
    const answer = await http.ask({ op, method: 'POST', path: `${path}/${where}`, body, repeatable: true })
    return (answer as { seq: number }).seq
  }

  /** The number of the last entry. */
  function head(op: string): Promise<number> {
    const page = http.ask({ op, path: `${path}/events`, query: { after: 'now' }, repeatable: true })
    const asked = page.then((page) => (page as { head: number }).head)
    // next() reports it.
    asked.catch(() => {})
    return asked
  }

  return {
    id,

    async send(message, options = {}) {
      const op = 'client.send'
      checkFor('send', options)
      const { mode, key = uuid() } = options
      return post(op, 'messages', { message: sayable(message, op), mode, key })
    },

    follow(options = {}) {
      const op = 'client.follow'
      checkFor('follow', options)
      const { after: asked = 0, until } = options
      const connect = transport(op, path, { until })
      // Asked once, and at once instead of at the first next(): nothing that happens in between, or while a connection is lost, is skipped.
      const after = asked === 'now' ? head(op) : asked
      return endable(options.signal, (signal) =>
        entries({ op, connect, after, signal, retry, onRetry, onOpen }),
      )
    },

    async read(options = {}) {
      checkFor('read', options)
      const { after = 0, limit, split } = options
      const query = { after, limit, split: split ? 'true' : undefined }
      const page = await http.ask({ op: 'client.read', path: `${path}/events`, query, repeatable: true })
      return (page as { entries: readonly Entry[] }).entries
    },

    async state(options = {}) {
      checkFor('state', options)
      const { before } = options
      return (await http.ask({ op: 'client.state', path, query: { before }, repeatable: true })) as ThreadView
    },

    async exchanges(options) {
      const op = 'client.exchanges'
      checkFor('exchanges', { ...options, run: options?.run ?? null })
      const { run, round } = options
      const exchanges: Exchange[] = []
      let after: number | undefined
      do {
        const query = { run, round, after }
        const page = await http.ask({ op, path: `${path}/exchanges`, query, repeatable: true })
        exchanges.push(...(page as ExchangePage).exchanges)
        after = (page as ExchangePage).next
      } while (after !== undefined)
      return exchanges
    },

    async stop(reason) {
      if (reason !== undefined) checkArgument('client.stop', 'reason', someText(reason))
      return post('client.stop', 'stop', { reason })
    },

    async approve(callId, answer) {
      const op = 'client.approve'
      checkArgument(op, 'callId', someText(callId))
      checkFor('approve', { ...answer, approved: answer?.approved ?? null })
      return post(op, `approvals/${encodeURIComponent(callId)}`, answer)
    },

    async testScript() {
      const op = 'client.testScript'
      const answer = await http.ask({ op, path: `${path}/test-script`, repeatable: true })
      return (answer as { source: string }).source
    },

    async fork(at, forkOptions = {}) {
      const op = 'client.fork'
      checkArgument(op, 'at', wholeNumber(0)(at))
      checkFor('fork', forkOptions)
      const forkId = await makeThread(http, { op, path: `${path}/fork`, body: { at }, id: forkOptions.id })
      return remoteThread(forkId, options)
    },

    voice(options) {
      return openVoice(options, { op: 'client.voice', path, http, sockets, retry, onRetry })
    },

    async delete() {
      const gone = http.ask({ op: 'client.delete', method: 'DELETE', path, repeatable: true })
      return gone.then(
        () => true,
        (error: unknown) => {
          if (isMillraceError(error) && error.code === 'not_found') return false
          throw error
        },
      )
    },
  }
}

function checkArgument(op: string, name: string, problem: string | false | undefined) {
  if (problem) throw invalidInput(op, `'${name}' ${problem}`)
}
