import type { Thread } from 'millrace'
import type { TurnRecord, VoiceCommand } from 'millrace/internal'
import { invalidInput, readAudioFrame } from 'millrace/internal'
import type { VoiceOutlet, VoiceSession } from 'millrace/server'
import type { SpeechInput } from './listening/speech-input.ts'
import { openSpeechInput } from './listening/speech-input.ts'
import type { VoiceSettings } from './options.ts'
import type { SpeechOutput } from './speaking/speech-output.ts'
import { openSpeechOutput } from './speaking/speech-output.ts'
import type { Turn } from './speaking/turn.ts'

/** A session that another one can continue when its client reconnects. */
export interface ResumableSession extends VoiceSession {
  /**
   * Ends this session because its client has reconnected. Returns what may not have reached the
   * client.
   */
  takeOver(): Handover
}

interface Handover {
  /** Turns that were not played to the end. */
  readonly turns: readonly Turn[]
  /** The last record that was sent. */
  readonly record: TurnRecord | undefined
}

export interface SessionOptions extends VoiceSettings {
  readonly thread: Thread
  readonly outlet: VoiceOutlet
  readonly authorize: () => void | Promise<void>
  readonly sessions: Map<string, ResumableSession>
}

const op = 'socket.voice'
const defaultRate = 24_000

export function openSession(options: SessionOptions): ResumableSession {
  const { thread, outlet, authorize, listener, sessions, reconnectMs } = options
  const id = crypto.randomUUID()
  /**
   * The keys it is registered under: its own name, and those of the sessions it took over, since
   * the client may not have received the new name yet.
   */
  const keys = new Set<string>()
  const counters = { turns: 0, frames: 0 }
  let sampleRate = defaultRate
  let speechOutput: SpeechOutput | undefined
  let speechInput: SpeechInput | undefined
  let isDisconnected = false
  let reconnectTimer: ReturnType<typeof setTimeout> | undefined
  let unfinishedTurns: readonly Turn[] = []
  let record: TurnRecord | undefined

  function closeSpeechOutput() {
    if (speechOutput) unfinishedTurns = speechOutput.close()
    speechOutput = undefined
  }

  function closeSpeechInput() {
    speechInput?.close()
    speechInput = undefined
  }

  function register(name: string) {
    const key = `${thread.id} ${name}`
    keys.add(key)
    sessions.set(key, session)
  }

  function unregister() {
    for (const key of keys) sessions.delete(key)
  }

  /** Continues the earlier session of a client that has reconnected. */
  function takeOver(name: string): Handover | undefined {
    const previous = sessions.get(`${thread.id} ${name}`)
    if (!previous || previous === session) return undefined
    const handover = previous.takeOver()
    register(name)
    record ??= handover.record
    return handover
  }

  const session: ResumableSession = {
    async handleCommand(command) {
      if (command.type === 'voice_played') return speechOutput?.played(command.turn, command.position)
      await authorize()
      // The client may have disconnected during the check.
      if (isDisconnected) return
      if (command.type === 'voice') return configure(command)
      return speechOutput?.interrupt({ stoppedAt: command, cancel: options.onInterrupt === 'cancel' })
    },
    receiveAudio(bytes) {
      const frame = readAudioFrame(bytes)
      if (typeof frame === 'string') throw invalidInput(op, frame)
      if (frame.kind !== 'microphone')
        throw invalidInput(op, 'clients may only send microphone audio (kind 2)')
      if (!speechInput) throw invalidInput(op, "listening is off: send { type: 'voice', listen: true } first")
      speechInput.push(frame.pcm)
    },
    disconnected() {
      isDisconnected = true
      const closedOutput = speechOutput
      closeSpeechOutput()
      closeSpeechInput()
      if (!closedOutput) return session.end()
      // The timer must not keep the process alive.
      reconnectTimer = setTimeout(() => {
        unregister()
        void closedOutput.abandon()
      }, reconnectMs).unref()
    },
    end() {
      clearTimeout(reconnectTimer)
      unregister()
      closeSpeechOutput()
      closeSpeechInput()
    },
    takeOver() {
      session.end()
      return { turns: unfinishedTurns, record }
    },
  }

  function sendRecord(sent: TurnRecord) {
    record = sent
    outlet.send({ type: 'voice_record', record: sent })
  }

  function configure(command: Extract<VoiceCommand, { type: 'voice' }>) {
    const { speak = false, listen = false, sampleRate: rate = defaultRate, from } = command
    if (listen && !listener)
      throw invalidInput(op, 'this server cannot listen: pass a listener to voice(), or omit listen')
    const isChanged = rate !== sampleRate || from !== undefined
    if (!speak) speechOutput?.switchOff()
    if (!speak || isChanged) closeSpeechOutput()
    if (!listen || isChanged) closeSpeechInput()
    sampleRate = rate
    const handover = from?.session === undefined ? undefined : takeOver(from.session)
    register(id)
    // Must precede any speech events.
    outlet.send({ type: 'voice', session: id, speak, listen, sampleRate })
    if (from?.awaits !== undefined && from.awaits === handover?.record?.run) sendRecord(handover.record)
    if (speak) {
      options.speech.ready?.()
      const { turns = [] } = handover ?? {}
      speechOutput ??= openSpeechOutput({
        ...options,
        sampleRate,
        counters,
        from,
        unfinishedTurns: turns,
        sendRecord,
      })
    }
    if (listen && listener)
      speechInput ??= openSpeechInput({ ...options, listener, sampleRate, speechOutput: () => speechOutput })
  }

  return session
}
