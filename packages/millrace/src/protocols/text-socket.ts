import type { Socket } from 'node:net'
import { systemClock } from '../protocol/index.ts'
import { closeCodes } from './attach-socket.ts'
import { beatEvery } from './heartbeats.ts'
import type { DrainResult } from './node-stream.ts'
import { atTurnEnd, waitForDrain } from './node-stream.ts'
import type { ProtocolHost, ServerSocket, SocketConnection } from './protocol.ts'
import { tokenBucket } from './token-bucket.ts'

/** A WebSocket for a protocol with text frames: sends heartbeats, and limits what a client sends. */
export interface TextSocket extends SocketConnection {
  /** Whether the server has closed it. */
  readonly isClosing: boolean
  write(text: string): void
  /** Resolves when there is room to write more. */
  drained(signal: AbortSignal): Promise<DrainResult> | DrainResult
}

export interface TextSocketOptions {
  readonly host: Pick<ProtocolHost, 'heartbeatMs' | 'stuckMs' | 'limits'>
  /** Called with each frame. */
  readonly onText: (text: string) => void
  /** Called once, when the socket closes, before `closed` resolves. */
  readonly onClose: () => void
}

/** How long a client has to answer a close before it is cut off. */
const closeMs = 2000
/** How many pings may stay unanswered. */
const maxMissedPongs = 2

export function textSocket(ws: ServerSocket, socket: Socket, options: TextSocketOptions): TextSocket {
  const { host, onText, onClose } = options
  const { framesPerSecond } = host.limits
  const allowance = tokenBucket({ perSecond: framesPerSecond, burst: 4 * framesPerSecond })
  let isCorked = false
  let isClosing = false
  let isClosed = false
  let missedPongs = 0
  let cancelTermination = () => {}

  function close(code: number, reason: string) {
    if (isClosing) return
    isClosing = true
    end()
    ws.close(code, reason)
    cancelTermination = systemClock.after(closeMs, () => ws.terminate())
  }

  function end() {
    stopHeartbeats()
    if (!isClosed) onClose()
    isClosed = true
  }

  const stopHeartbeats = beatEvery(host.heartbeatMs, () => {
    // A client that does not read cannot answer. `stuckMs` limits how long it may do that.
    if (socket.writableNeedDrain) return
    if (missedPongs++ >= maxMissedPongs) return ws.terminate()
    ws.ping()
  })
  ws.on('pong', () => {
    missedPongs = 0
  })
  ws.on('message', (data, isBinary) => {
    if (isClosing) return
    if (isBinary) return close(closeCodes.policy, 'a frame must be text')
    if (allowance.take() > 0) return close(closeCodes.policy, 'too many frames')
    onText(String(data))
  })
  // Errors close the connection, which is handled there.
  ws.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    ws.on('close', () => {
      end()
      cancelTermination()
      resolve()
    })
  })

  return {
    closed,
    close,
    get isClosing() {
      return isClosing
    },
    /** Sends everything that is written in one turn of the event loop in one piece. */
    write(text) {
      if (ws.readyState !== ws.OPEN) return
      if (!isCorked) {
        isCorked = true
        socket.cork()
        atTurnEnd(() => {
          isCorked = false
          socket.uncork()
        })
      }
      ws.send(text)
    },
    drained: (signal) => (socket.writableNeedDrain ? waitForDrain(socket, host.stuckMs, signal) : 'drained'),
  }
}
