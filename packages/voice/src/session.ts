import type { Thread } from 'millrace'
import type { TurnRecord, VoiceCommand } from 'millrace/internal'
import { invalidInput, readAudioFrame } from 'millrace/internal'
import type { VoiceOutlet, VoiceSession } from 'millrace/server'
import type { Ear } from './listening/ear.ts'
import { openEar } from './listening/ear.ts'
import type { VoiceSettings } from './options.ts'
import type { SpeechOutput } from './speaking/speech-output.ts'
import { openSpeechOutput } from './speaking/speech-output.ts'
import type { Turn } from './speaking/turn.ts'

/** Another session of the same client may go on where this one was. */
export interface ResumableSession extends VoiceSession {
  /** The same, since its client has come back over another connection. Gives what may not have reached it. */
  takeOver(): Inheritance
}

interface Inheritance {
  /** What was not heard to the end. */
  readonly turns: readonly Turn[]
  /** The last one that was told. */
  readonly record: TurnRecord | undefined
}

export interface SessionOptions extends VoiceSettings {
  readonly thread: Thread
  readonly outlet: VoiceOutlet
  readonly allow: () => void | Promise<void>
  readonly sessions: Map<string, ResumableSession>
}

const op = 'socket.voice'
const defaultRate = 24_000

export function openSession(options: SessionOptions): ResumableSession {
  const { thread, outlet, allow, listener, sessions, comeBackMs } = options
  const id = crypto.randomUUID()
  /** What it is found by: its own name, and those of the connections that it took over, since its client may not have learnt its own. */
  const keys = new Set<string>()
  const count = { turns: 0, frames: 0 }
  let sampleRate = defaultRate
  let output: SpeechOutput | undefined
  let ear: Ear | undefined
  let isLost = false
  let farewell: ReturnType<typeof setTimeout> | undefined
  let left: readonly Turn[] = []
  let record: TurnRecord | undefined

  function closeOutput() {
    if (output) left = output.close()
    output = undefined
  }

  function closeEar() {
    ear?.close()
    ear = undefined
  }

  function beFoundBy(name: string) {
    const key = `${thread.id} ${name}`
    keys.add(key)
    sessions.set(key, session)
  }

  function forget() {
    for (const key of keys) sessions.delete(key)
  }

  /** Whoever has come back takes over from itself. */
  function takeOver(name: string): Inheritance | undefined {
    const before = sessions.get(`${thread.id} ${name}`)
    if (!before || before === session) return undefined
    const inherited = before.takeOver()
    beFoundBy(name)
    record ??= inherited.record
    return inherited
  }

  const session: ResumableSession = {
    async obey(command) {
      if (command.type === 'voice_played') return output?.played(command.turn, command.position)
      await allow()
      // It may have left while it was being asked whether it may.
      if (isLost) return
      if (command.type === 'voice') return turn(command)
      return output?.interrupt({ stoppedAt: command, cancel: options.onInterrupt === 'cancel' })
    },
    hear(bytes) {
      const frame = readAudioFrame(bytes)
      if (typeof frame === 'string') throw invalidInput(op, frame)
      if (frame.kind !== 'microphone')
        throw invalidInput(op, 'a client sends the audio of a microphone: kind 2')
      if (!ear) throw invalidInput(op, "nobody listens: send { type: 'voice', listen: true } first")
      ear.hear(frame.pcm)
    },
    lost() {
      isLost = true
      const spoken = output
      closeOutput()
      closeEar()
      if (!spoken) return session.end()
      // No process lives on for its sake.
      farewell = setTimeout(() => {
        forget()
        void spoken.lost()
      }, comeBackMs).unref()
    },
    end() {
      clearTimeout(farewell)
      forget()
      closeOutput()
      closeEar()
    },
    takeOver() {
      session.end()
      return { turns: left, record }
    },
  }

  function tell(told: TurnRecord) {
    record = told
    outlet.tell({ type: 'voice_record', record: told })
  }

  function turn(command: Extract<VoiceCommand, { type: 'voice' }>) {
    const { speak = false, listen = false, sampleRate: rate = defaultRate, from } = command
    if (listen && !listener)
      throw invalidInput(op, 'this server does not listen: give voice() a listener, or leave out listen')
    const isOther = rate !== sampleRate || from !== undefined
    if (!speak) output?.leave()
    if (!speak || isOther) closeOutput()
    if (!listen || isOther) closeEar()
    sampleRate = rate
    const inherited = from?.session === undefined ? undefined : takeOver(from.session)
    beFoundBy(id)
    // Before anything that it says.
    outlet.tell({ type: 'voice', session: id, speak, listen, sampleRate })
    if (from?.awaits !== undefined && from.awaits === inherited?.record?.run) tell(inherited.record)
    if (speak) {
      options.speech.ready?.()
      const { turns = [] } = inherited ?? {}
      output ??= openSpeechOutput({ ...options, sampleRate, count, from, inherited: turns, tell })
    }
    if (listen && listener) ear ??= openEar({ ...options, listener, sampleRate, mouth: () => output })
  }

  return session
}
