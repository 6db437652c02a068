import type {
  ApprovalAnswer,
  Entry,
  Exchange,
  ExchangePage,
  ExchangesOptions,
  Feedback,
  FollowOptions,
  InputUserMessage,
  JsonObject,
  RespondOptions,
  RewindOptions,
  SendOptions,
  StateOptions,
  ThreadView,
} from '../protocol/index.ts'
import { anObject, invalidInput, isMillraceError, someText, wholeNumber } from '../protocol/index.ts'
import { cancelable } from './cancelable.ts'
import { entries } from './follow.ts'
import type { Http } from './http.ts'
import { resultJson, userMessageJson } from './message.ts'
import { createThread, uuid } from './new-thread.ts'
import type { ClientOptions, ForkThreadOptions, ReadEntriesOptions, Sockets } from './options.ts'
import { checkFor } from './options.ts'
import type { Transport } from './transport.ts'
import { openVoice } from './voice.ts'
import type { VoiceLine, VoiceLineOptions } from './voice-options.ts'

/**
 * A thread on a server. Invalid arguments throw `invalid_input`. Other errors have the code that
 * the server sent (`not_found`, `auth`, `conflict`, `rate_limit`, …), or `stream_error` or
 * `timeout` if the server cannot be reached.
 */
export interface RemoteThread {
  readonly id: string
  /**
   * Sends a message. Resolves with its number once it is durable. A retry does not create a second
   * input.
   */
  send(message: string | InputUserMessage, options?: SendOptions): Promise<number>
  /**
   * Every entry after a number, exactly once and at the reader's pace. Reconnects automatically and
   * resumes after the last entry. Ends when the signal is aborted or the thread is deleted.
   */
  follow(options?: FollowOptions): AsyncIterableIterator<Entry, undefined>
  read(options?: ReadEntriesOptions): Promise<readonly Entry[]>
  /**
   * The current state with the most recent messages. If it has `earlier`, use `before` to get older
   * ones.
   */
  state(options?: Pick<StateOptions, 'before'>): Promise<ThreadView>
  /**
   * The recorded model calls of a run, in order, including calls in progress. Rejects with `auth`
   * if this client may not see them, with `not_found` if the server does not record them.
   */
  exchanges(options: ExchangesOptions): Promise<readonly Exchange[]>
  /** Stops the current run. Queued messages are not answered automatically. */
  stop(reason?: string): Promise<number>
  /**
   * Approves or denies a tool call. The same decision twice is fine; rejects with `conflict` if
   * there is a different one.
   */
  approve(callId: string, answer: ApprovalAnswer): Promise<number>
  /**
   * Sends the result of a tool call that waits for one: text, JSON or `toolContent()`. Does nothing
   * if the call already has a result, or its run has ended.
   */
  respond(callId: string, output: unknown, options?: RespondOptions): Promise<number>
  /**
   * Continues the conversation as it was before an entry, and resolves with the number of the new
   * entry. Cancels a run in progress. `before` is the number of
   * - an input: send the new message afterwards
   * - the `run-start` of a run: its inputs are answered again
   * - an earlier rewind: what it replaced is restored
   */
  rewind(before: number, options?: RewindOptions): Promise<number>
  /**
   * The source of a test that replays the conversation, as `millrace export --format test` writes
   * it.
   */
  testScript(): Promise<string>
  /** Gives the thread a title. */
  rename(title: string): Promise<number>
  /**
   * Changes the thread's metadata by a JSON merge patch (RFC 7396): fields that are null are
   * removed, all others are set.
   */
  updateMetadata(patch: JsonObject): Promise<number>
  /**
   * Says what the user thinks of the answer of a run: `run` is the id of its first `run-start`.
   * Without `rating` and `note`, withdraws what the user said before.
   */
  feedback(run: string, feedback: Feedback): Promise<number>
  /** Creates a new thread with the log of this one up to a number. */
  fork(at: number, options?: ForkThreadOptions): Promise<RemoteThread>
  /**
   * Opens a voice line: speech output and speech input over a separate WebSocket. Reconnects
   * automatically and resumes where it was.
   */
  voice(options: VoiceLineOptions): VoiceLine
  /** Deletes the thread and its data. Resolves with false if it did not exist. */
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
    // All of these are idempotent: inputs and rewinds have a key, decisions and results have a call
    // id, and stopping twice is harmless.
    const answer = await http.request({
      op,
      method: 'POST',
      path: `${path}/${where}`,
      body,
      repeatable: true,
    })
    return (answer as { seq: number }).seq
  }

  /** The number of the last entry. */
  function head(op: string): Promise<number> {
    const page = http.request({ op, path: `${path}/events`, query: { after: 'now' }, repeatable: true })
    const number = page.then((page) => (page as { head: number }).head)
    // next() reports the error.
    number.catch(() => {})
    return number
  }

  return {
    id,

    async send(message, options = {}) {
      const op = 'client.send'
      checkFor('send', options)
      const { mode, key = uuid(), request } = options
      return post(op, 'messages', { message: userMessageJson(message, op), mode, key, request })
    },

    follow(options = {}) {
      const op = 'client.follow'
      checkFor('follow', options)
      const { after: position = 0, until } = options
      const connect = transport(op, path, { until })
      // Requested once and right away, not at the first next(): nothing that happens in between, or
      // while disconnected, is skipped.
      const after = position === 'now' ? head(op) : position
      return cancelable(options.signal, (signal) =>
        entries({ op, connect, after, signal, retry, onRetry, onOpen }),
      )
    },

    async read(options = {}) {
      checkFor('read', options)
      const { after = 0, limit, split } = options
      const query = { after, limit, split: split ? 'true' : undefined }
      const page = await http.request({ op: 'client.read', path: `${path}/events`, query, repeatable: true })
      return (page as { entries: readonly Entry[] }).entries
    },

    async state(options = {}) {
      checkFor('state', options)
      const { before } = options
      return (await http.request({
        op: 'client.state',
        path,
        query: { before },
        repeatable: true,
      })) as ThreadView
    },

    async exchanges(options) {
      const op = 'client.exchanges'
      checkFor('exchanges', { ...options, run: options?.run ?? null })
      const { run, round } = options
      const exchanges: Exchange[] = []
      let after: number | undefined
      do {
        const query = { run, round, after }
        const page = await http.request({ op, path: `${path}/exchanges`, query, repeatable: true })
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

    async respond(callId, output, options = {}) {
      const op = 'client.respond'
      checkArgument(op, 'callId', someText(callId))
      checkFor('respond', options)
      const { isError, request } = options
      const result = { ...resultJson(output), isError, request }
      return post(op, `calls/${encodeURIComponent(callId)}/result`, result)
    },

    async rewind(before, options = {}) {
      const op = 'client.rewind'
      checkArgument(op, 'before', wholeNumber(1)(before))
      checkFor('rewind', options)
      const { key = uuid(), request } = options
      return post(op, 'rewind', { before, key, request })
    },

    async rename(title) {
      const op = 'client.rename'
      checkArgument(op, 'title', someText(title))
      const answer = await http.request({ op, method: 'PATCH', path, body: { title }, repeatable: true })
      return (answer as { seq: number }).seq
    },

    async updateMetadata(patch) {
      const op = 'client.updateMetadata'
      checkArgument(op, 'patch', anObject(patch))
      const body = { metadata: patch }
      const answer = await http.request({ op, method: 'PATCH', path, body, repeatable: true })
      return (answer as { seq: number }).seq
    },

    async feedback(run, feedback) {
      checkArgument('client.feedback', 'run', someText(run))
      checkFor('feedback', feedback)
      return post('client.feedback', 'feedback', { run, ...feedback })
    },

    async testScript() {
      const op = 'client.testScript'
      const answer = await http.request({ op, path: `${path}/test-script`, repeatable: true })
      return (answer as { source: string }).source
    },

    async fork(at, forkOptions = {}) {
      const op = 'client.fork'
      checkArgument(op, 'at', wholeNumber(0)(at))
      checkFor('fork', forkOptions)
      const forkId = await createThread(http, { op, path: `${path}/fork`, body: { at }, id: forkOptions.id })
      return remoteThread(forkId, options)
    },

    voice(options) {
      return openVoice(options, { op: 'client.voice', path, http, sockets, retry, onRetry })
    },

    async delete() {
      const deletion = http.request({ op: 'client.delete', method: 'DELETE', path, repeatable: true })
      return deletion.then(
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
