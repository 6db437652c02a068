import type { Entry, VoiceCommand } from '../protocol/index.ts'
import { invalidInput, isMillraceError, publicError, systemClock } from '../protocol/index.ts'
import { answerIn } from './commands.ts'
import { finalMessagesAfter } from './final-message.ts'
import { atTurnEnd, roomIn } from './node-stream.ts'
import type { ServerSocket, SocketConnection } from './protocol.ts'
import type { ClientFrame, ReplyFrame } from './socket-frames.ts'
import { idOf, socketFrame } from './socket-frames.ts'
import { frameHeads, socketInbox } from './socket-inbox.ts'
import type { SocketOptions } from './socket-options.ts'
import { readSocketOptions } from './socket-options.ts'
import { every } from './thread-stream.ts'
import type { VoiceSession } from './voice.ts'

export type { ServerSocket, SocketConnection } from './protocol.ts'
export type { SocketOptions } from './socket-options.ts'

/** The codes that a socket is closed with, beside those of the protocol itself. */
export const closeCodes = {
  goingAway: 1001,
  policy: 1008,
  internal: 1011,
  tryAgainLater: 1013,
  threadGone: 4404,
} as const

/** RFC 6455, 11.8. Those up to binary bear data; 0 goes on with the message before. */
const opcodes = { text: 1, binary: 2, pong: 10 } as const
/** So long a client has to answer a close before it is cut off. */
const closeMs = 2000
/** So many pings may go without an answer. */
const mostMissed = 2

/**
 * Connects a WebSocket to a thread, until one of them ends. The next entry is taken only when there is room for it, so a slow
 * client costs a buffer and delays nobody.
 */
export function attachSocket(ws: ServerSocket, options: SocketOptions): SocketConnection {
  const { socket, thread, after, stream, heartbeatMs, stuckMs, framesPerSecond, voice, authorize, onError } =
    readSocketOptions(options)
  let following: AbortController | undefined
  let isCorked = false
  let isHeld = false
  let isOver = false
  let missed = 0
  /** Pongs that answer a ping of ours, and cost nothing. */
  let owedPongs = 0
  let isAudio = false
  let isFlooded = false
  let cancelCut = () => {}
  let speaking: VoiceSession | undefined

  const isOpen = () => !isOver && ws.readyState === ws.OPEN

  /** Everything that is written in one turn leaves in one piece. */
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
    void holdIfFull()
  }

  /** Past `ws`, which would frame it anew for each of many clients; without extensions a frame is the same for all. */
  function tellEntry(entry: Entry) {
    cork()
    socket.write(socketFrame(entry))
  }

  /** Who does not read what it is answered is not listened to. */
  async function holdIfFull() {
    if (isHeld || !socket.writableNeedDrain) return
    isHeld = true
    ws.pause()
    const room = await roomIn(socket, stuckMs)
    isHeld = false
    if (room === 'stuck') closeStuck()
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
        closeBroken(error)
      })
  }

  async function followFrom(from: number, signal: AbortSignal) {
    const tell = stream ? tellEntry : await tellEnds(from)
    return pump(thread.follow({ after: from, signal }), signal, tell)
  }

  async function pump(
    entries: AsyncIterator<Entry, undefined>,
    signal: AbortSignal,
    tell: (entry: Entry) => void,
  ) {
    // Also before the first: a client that asks anew again and again while it reads nothing would have it piled up.
    for (;;) {
      const room = socket.writableNeedDrain ? await roomIn(socket, stuckMs, signal) : 'room'
      if (room !== 'room') return room
      const { done, value } = await entries.next()
      if (done) return 'over'
      if (!isOpen()) return 'gone'
      tell(value)
    }
  }

  async function tellEnds(from: number) {
    const take = await finalMessagesAfter(thread, from)
    return (entry: Entry) => {
      const message = take(entry)
      if (entry.event.type === 'approval-request') tellEntry(entry)
      else if (message) reply(message)
    }
  }

  /** The thread is gone, or the app is closed. */
  async function followingEnded() {
    const error: unknown = await thread.info().then(
      () => undefined,
      (error) => error,
    )
    const isGone = isMillraceError(error) && error.code === 'not_found'
    if (isGone) close(closeCodes.threadGone, 'the thread is gone')
    else close(closeCodes.goingAway, 'going away: come back and resume where you were')
  }

  async function handleFrame(frame: ClientFrame): Promise<void> {
    // A command runs after `ready` has named the head, so that its entries come after `now`.
    await ready
    if (frame.type === 'ping') return reply({ type: 'pong' })
    if (frame.type === 'pong') return
    if (isVoice(frame)) return speakWith(frame).obey(frame)
    await authorize()
    if (frame.type === 'resume') return resume(frame.after)
    reply({ type: 'ack', ...idOf(frame), seq: await runCommand(frame) })
  }

  function speakWith({ type }: { readonly type: string }): VoiceSession {
    if (!voice) throw invalidInput('socket.frame', `'${type}': there is no voice here`)
    speaking ??= voice.open(thread, {
      tell: reply,
      audio(frame) {
        if (!isOpen()) return
        cork()
        ws.send(frame)
      },
      async room() {
        if ((await roomIn(socket, stuckMs)) === 'stuck') closeStuck()
      },
      over: () => void followingEnded(),
      allow: authorize,
    })
    return speaking
  }

  /** Out of turn: what is done about a frame before it would hold it up. */
  function hearAudio(data: Buffer) {
    try {
      if (!voice) throw invalidInput('socket.frame', 'a frame must be text, not binary')
      speakWith({ type: 'audio' }).hear(data)
    } catch (thrown) {
      refuse(thrown, undefined)
    }
  }

  function runCommand(frame: Extract<ClientFrame, { type: 'send' | 'stop' | 'approve' }>): Promise<number> {
    if (frame.type === 'stop') return thread.stop(frame.reason)
    if (frame.type === 'approve') return thread.approve(frame.callId, answerIn(frame))
    return thread.send(frame.message, { mode: frame.mode, key: frame.key })
  }

  async function resume(after: number | 'now') {
    const { head } = await thread.info()
    const from = after === 'now' ? head : after
    if (from > head) throw invalidInput('socket.frame', `after is ${from}, but the log ends at ${head}`)
    // A client that loses the connection before the next entry comes back with this number.
    if (after === 'now') reply({ type: 'ready', head })
    if (isOpen()) follow(from)
  }

  /** `patienceMs` is for a client that may still have much to read before it gets to the end. */
  function close(code: number, reason: string, patienceMs = closeMs) {
    if (isOver) return
    isOver = true
    // It is we who leave: whoever comes back is heard anew.
    if (code === closeCodes.goingAway || code === closeCodes.threadGone) speaking?.end()
    leave()
    // A paused socket would never see the client's answer.
    ws.resume()
    ws.close(code, reason)
    cancelCut = systemClock.after(patienceMs, () => ws.terminate())
  }

  function closeStuck() {
    const patienceMs = Math.max(stuckMs, closeMs)
    close(closeCodes.tryAgainLater, 'too slow: come back and resume where you were', patienceMs)
  }

  /** What still comes is dropped unread, so an answer to the close would not be seen. */
  function closeFlooded() {
    isFlooded = true
    close(closeCodes.policy, 'too many frames')
    socket.end()
  }

  function closeBroken(error: unknown) {
    publicError(error, onError)
    close(closeCodes.internal, 'something went wrong here: come back later')
  }

  function leave() {
    following?.abort()
    endBeats()
    inbox.close()
    speaking?.lost()
    speaking = undefined
  }

  function refuse(thrown: unknown, frame: unknown) {
    const { id: errorId, ...error } = publicError(thrown, onError)
    reply({ type: 'error', ...idOf(frame), ...error, ...(errorId !== undefined && { errorId }) })
  }

  const inbox = socketInbox({
    framesPerSecond,
    handleFrame,
    refuse,
    onFlood: closeFlooded,
  })
  const endBeats = every(heartbeatMs, () => {
    // One that does not read cannot answer; how long it may do so is another matter.
    if (socket.writableNeedDrain) return
    if (missed++ >= mostMissed) return ws.terminate()
    owedPongs++
    ws.ping()
  })
  const countFrames = frameHeads((opcode) => {
    if (opcode === opcodes.pong && owedPongs > 0) {
      owedPongs--
      return true
    }
    if (opcode === opcodes.text || opcode === opcodes.binary)
      isAudio = opcode === opcodes.binary && voice !== undefined
    inbox.count(isAudio && opcode <= opcodes.binary)
    return !isFlooded
  })
  // Counted before `ws` sees any of it: taking 64 KiB of empty frames apart takes milliseconds.
  const [read] = socket.listeners('data')
  const gate = (chunk: Buffer) => {
    if (!isFlooded) countFrames(chunk)
    if (!isFlooded) read?.call(socket, chunk)
  }
  // `ws` takes its own listener off when the client has closed: found by this, as one of `once` is.
  if (read) socket.off('data', read as () => void).on('data', Object.assign(gate, { listener: read }))
  const closed = new Promise<void>((resolve) => {
    ws.on('close', () => {
      isOver = true
      leave()
      cancelCut()
      resolve()
    })
  })
  ws.on('message', (data, isBinary) => {
    missed = 0
    if (isOver) return
    if (isBinary) hearAudio(data as Buffer)
    else inbox.take(String(data))
    void holdIfFull()
  })
  // `ws` answers by itself.
  ws.on('ping', () => void holdIfFull())
  ws.on('pong', () => {
    missed = 0
  })
  // What is wrong on the wire closes the connection; that is all there is to know.
  ws.on('error', () => {})
  const ready = thread.info().then(({ head }) => {
    reply({ type: 'ready', head })
    if (after !== undefined && isOpen()) follow(after === 'now' ? head : after)
  }, closeBroken)

  return { closed, close: (code, reason) => close(code, reason) }
}

function isVoice(frame: ClientFrame): frame is Extract<ClientFrame, VoiceCommand> {
  return frame.type === 'voice' || frame.type === 'voice_played' || frame.type === 'voice_interrupt'
}
