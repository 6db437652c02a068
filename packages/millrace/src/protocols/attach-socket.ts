import type { Entry, VoiceCommand } from '../protocol/index.ts'
import { invalidInput, isMillraceError, publicError, systemClock } from '../protocol/index.ts'
import type { Following } from '../threads/index.ts'
import { approvalAnswerOf, checkRequest, resultOf } from './commands.ts'
import { finalMessagesAfter } from './final-message.ts'
import { beatEvery } from './heartbeats.ts'
import { atTurnEnd, waitForDrain } from './node-stream.ts'
import type { ServerSocket, SocketConnection } from './protocol.ts'
import type { ClientFrame, ReplyFrame } from './socket-frames.ts'
import { idOf, socketFrames } from './socket-frames.ts'
import { frameHeaderReader, socketInbox } from './socket-inbox.ts'
import type { SocketOptions } from './socket-options.ts'
import { readSocketOptions } from './socket-options.ts'
import type { VoiceSession } from './voice.ts'

export type { ServerSocket, SocketConnection } from './protocol.ts'
export type { SocketOptions } from './socket-options.ts'

/** The codes a socket is closed with, in addition to those that `ws` sends itself. */
export const closeCodes = {
  goingAway: 1001,
  policy: 1008,
  internal: 1011,
  tryAgainLater: 1013,
  threadGone: 4404,
} as const

/** RFC 6455, 11.8. Opcodes up to binary carry data; 0 continues the previous message. */
const opcodes = { text: 1, binary: 2, pong: 10 } as const
/** How long a client has to answer a close before it is cut off. */
const closeMs = 2000
/** How many pings may stay unanswered. */
const maxMissedPongs = 2

/**
 * Connects a WebSocket to a thread, until either of them ends. The next entry is read only when
 * there is room for it, so a slow client costs one buffer and does not delay others.
 */
export function attachSocket(ws: ServerSocket, options: SocketOptions): SocketConnection {
  const { socket, thread, after, stream, heartbeatMs, stuckMs, framesPerSecond, voice, ...rest } =
    readSocketOptions(options)
  const { clientOptions, authorize, onError } = rest
  let following: AbortController | undefined
  let isCorked = false
  let isPaused = false
  let isClosed = false
  let missedPongs = 0
  /** Pongs that answer our own pings, which do not count against the limit. */
  let expectedPongs = 0
  let isAudio = false
  let isFlooding = false
  let cancelTermination = () => {}
  let session: VoiceSession | undefined

  const isOpen = () => !isClosed && ws.readyState === ws.OPEN

  /** Sends everything that is written in one turn of the event loop in one piece. */
  function cork() {
    if (isCorked) return
    isCorked = true
    socket.cork()
    atTurnEnd(() => {
      isCorked = false
      socket.uncork()
    })
  }

  function reply(frame: ReplyFrame) {
    if (!isOpen()) return
    cork()
    ws.send(JSON.stringify(frame))
    void pauseIfFull()
  }

  /**
   * Bypasses `ws`, which would frame the entry again for each client. Without extensions a frame is
   * the same for all of them.
   */
  function sendEntry(entry: Entry) {
    cork()
    socket.write(socketFrames.entry(entry))
  }

  /** The same for entries that arrive together: in one piece, so there is nothing to cork. */
  function sendEntries(entries: readonly Entry[]) {
    socket.write(socketFrames.entries(entries))
  }

  /** Stops reading from a client that does not read our replies. */
  async function pauseIfFull() {
    if (isPaused || !socket.writableNeedDrain) return
    isPaused = true
    ws.pause()
    const result = await waitForDrain(socket, stuckMs)
    isPaused = false
    if (result === 'stuck') closeStuck()
    else if (isOpen()) ws.resume()
  }

  function follow(from: number) {
    following?.abort()
    following = new AbortController()
    const { signal } = following
    followFrom(from, signal)
      .then((end) => {
        if (end === 'stuck') closeStuck()
        else if (!signal.aborted) return followingEnded()
      })
      .catch((error: unknown) => {
        if (signal.aborted) return
        if (isMillraceError(error) && error.code === 'not_found') return followingEnded()
        closeOnError(error)
      })
  }

  async function followFrom(from: number, signal: AbortSignal) {
    const send = stream ? sendEntry : await finalMessageSender(from)
    const sendAll = stream ? sendEntries : (entries: readonly Entry[]) => entries.forEach(send)
    return pump(thread.follow({ after: from, signal }), { signal, send, sendAll })
  }

  async function pump(entries: Following, { signal, send, sendAll }: PumpOptions) {
    const onEntries = (arrived: readonly Entry[]) => {
      if (isOpen()) sendAll(arrived)
      return isOpen() && !socket.writableNeedDrain
    }
    // Waits before the first entry too: otherwise a client that keeps sending `resume` and reads
    // nothing would fill the buffer.
    for (;;) {
      const listening = entries.listen(onEntries)
      if (listening) await listening
      const result = socket.writableNeedDrain ? await waitForDrain(socket, stuckMs, signal) : 'drained'
      if (result !== 'drained') return result
      const { done, value } = await entries.next()
      if (done) return 'ended'
      if (!isOpen()) return 'closed'
      send(value)
    }
  }

  async function finalMessageSender(from: number) {
    const take = await finalMessagesAfter(thread, from)
    return (entry: Entry) => {
      const message = take(entry)
      if (entry.event.type === 'approval-request') sendEntry(entry)
      else if (message) reply(message)
    }
  }

  /** The thread was deleted, or the app is closed. */
  async function followingEnded() {
    const error: unknown = await thread.info().then(
      () => undefined,
      (error) => error,
    )
    const isGone = isMillraceError(error) && error.code === 'not_found'
    if (isGone) close(closeCodes.threadGone, 'the thread was deleted')
    else close(closeCodes.goingAway, 'going away: reconnect and resume')
  }

  async function handleFrame(frame: ClientFrame): Promise<void> {
    // A command runs after `ready` has named the head, so that its entries come after `now`.
    await ready
    if (frame.type === 'ping') return reply({ type: 'pong' })
    if (frame.type === 'pong') return
    if (isVoice(frame)) return openVoiceSession(frame).handleCommand(frame)
    await authorize()
    if (frame.type === 'resume') return resume(frame.after)
    reply({ type: 'ack', ...idOf(frame), seq: await runCommand(frame) })
  }

  function openVoiceSession({ type }: { readonly type: string }): VoiceSession {
    if (!voice) throw invalidInput('socket.frame', `'${type}': this server has no voice`)
    session ??= voice.open(thread, {
      send: reply,
      sendAudio(frame) {
        if (!isOpen()) return
        cork()
        ws.send(frame)
      },
      async drained() {
        if ((await waitForDrain(socket, stuckMs)) === 'stuck') closeStuck()
      },
      threadEnded: () => void followingEnded(),
      authorize,
    })
    return session
  }

  /** Handled at once: audio must not wait for the frames before it. */
  function receiveAudio(data: Buffer) {
    try {
      if (!voice) throw invalidInput('socket.frame', 'a frame must be text, not binary')
      openVoiceSession({ type: 'audio' }).receiveAudio(data)
    } catch (thrown) {
      replyError(thrown, undefined)
    }
  }

  function runCommand(frame: CommandFrame): Promise<number> {
    const op = 'socket.frame'
    switch (frame.type) {
      case 'stop':
        return thread.stop(frame.reason)
      case 'approve':
        return thread.approve(frame.callId, approvalAnswerOf(frame, clientOptions, op))
      case 'respond': {
        const request = checkRequest(frame.request, clientOptions, op)
        return thread.respond(frame.callId, resultOf(frame, op), { isError: frame.isError, request })
      }
      case 'rewind': {
        const request = checkRequest(frame.request, clientOptions, op)
        return thread.rewind(frame.before, { key: frame.key, request })
      }
      case 'send': {
        const request = checkRequest(frame.request, clientOptions, op)
        return thread.send(frame.message, { mode: frame.mode, key: frame.key, request })
      }
    }
  }

  async function resume(after: number | 'now') {
    const { head } = await thread.info()
    const from = after === 'now' ? head : after
    if (from > head) throw invalidInput('socket.frame', `after is ${from}, but the log ends at ${head}`)
    // If the connection is lost before the next entry, the client resumes from this number.
    if (after === 'now') reply({ type: 'ready', head })
    if (isOpen()) follow(from)
  }

  /** `timeoutMs` is longer for a client that may still have a lot to read before the close. */
  function close(code: number, reason: string, timeoutMs = closeMs) {
    if (isClosed) return
    isClosed = true
    // The server ends the session, so that a client that reconnects starts a new one.
    if (code === closeCodes.goingAway || code === closeCodes.threadGone) session?.end()
    cleanUp()
    // A paused socket would never see the client's close frame.
    ws.resume()
    ws.close(code, reason)
    cancelTermination = systemClock.after(timeoutMs, () => ws.terminate())
  }

  function closeStuck() {
    const timeoutMs = Math.max(stuckMs, closeMs)
    close(closeCodes.tryAgainLater, 'too slow: reconnect and resume', timeoutMs)
  }

  /** Further data is dropped unread, so the client's close frame would not be seen either. */
  function closeFlooding() {
    isFlooding = true
    close(closeCodes.policy, 'too many frames')
    socket.end()
  }

  function closeOnError(error: unknown) {
    publicError(error, onError)
    close(closeCodes.internal, 'internal error: reconnect later')
  }

  function cleanUp() {
    following?.abort()
    stopHeartbeats()
    inbox.close()
    session?.disconnected()
    session = undefined
  }

  function replyError(thrown: unknown, frame: unknown) {
    const { id: errorId, ...error } = publicError(thrown, onError)
    reply({ type: 'error', ...idOf(frame), ...error, ...(errorId !== undefined && { errorId }) })
  }

  const inbox = socketInbox({
    framesPerSecond,
    handleFrame,
    onError: replyError,
    onFlood: closeFlooding,
  })
  const stopHeartbeats = beatEvery(heartbeatMs, () => {
    // A client that does not read cannot answer. `stuckMs` limits how long it may do that.
    if (socket.writableNeedDrain) return
    if (missedPongs++ >= maxMissedPongs) return ws.terminate()
    expectedPongs++
    ws.ping()
  })
  const countFrames = frameHeaderReader((opcode) => {
    if (opcode === opcodes.pong && expectedPongs > 0) {
      expectedPongs--
      return true
    }
    if (opcode === opcodes.text || opcode === opcodes.binary)
      isAudio = opcode === opcodes.binary && voice !== undefined
    inbox.count(isAudio && opcode <= opcodes.binary)
    return !isFlooding
  })
  // Counted before `ws` sees the data: parsing 64 KiB of empty frames takes milliseconds.
  const [read] = socket.listeners('data')
  const gate = (chunk: Buffer) => {
    if (!isFlooding) countFrames(chunk)
    if (!isFlooding) read?.call(socket, chunk)
  }
  // `ws` removes its own listener when the client has closed. With `listener` set, as `once` does
  // it, Node
  // finds this one instead.
  if (read) socket.off('data', read as () => void).on('data', Object.assign(gate, { listener: read }))
  const closed = new Promise<void>((resolve) => {
    ws.on('close', () => {
      isClosed = true
      cleanUp()
      cancelTermination()
      resolve()
    })
  })
  ws.on('message', (data, isBinary) => {
    missedPongs = 0
    if (isClosed) return
    if (isBinary) receiveAudio(data as Buffer)
    else inbox.take(String(data))
    void pauseIfFull()
  })
  // `ws` sends the pong.
  ws.on('ping', () => void pauseIfFull())
  ws.on('pong', () => {
    missedPongs = 0
  })
  // Errors close the connection, which is handled there.
  ws.on('error', () => {})
  const ready = thread.info().then(({ head }) => {
    reply({ type: 'ready', head })
    if (after !== undefined && isOpen()) follow(after === 'now' ? head : after)
  }, closeOnError)

  return { closed, close: (code, reason) => close(code, reason) }
}

interface PumpOptions {
  readonly signal: AbortSignal
  readonly send: (entry: Entry) => void
  /** For entries that arrive together. */
  readonly sendAll: (entries: readonly Entry[]) => void
}

type CommandFrame = Extract<ClientFrame, { type: 'send' | 'stop' | 'approve' | 'respond' | 'rewind' }>

function isVoice(frame: ClientFrame): frame is Extract<ClientFrame, VoiceCommand> {
  return frame.type === 'voice' || frame.type === 'voice_played' || frame.type === 'voice_interrupt'
}
