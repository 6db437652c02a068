import type { Agent, AppOptions, Message, TextPart } from 'millrace'
import { serve } from 'millrace/server'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { VoiceCommand, VoicePlace } from '../../millrace/src/protocol/index.ts'
import { systemClock, writeAudioFrame } from '../../millrace/src/protocol/index.ts'
import { type TestClient, testClient } from './client.test-kit.ts'
import type { VoiceOptions } from './options.ts'
import { type ScriptedSpeechOptions, scriptedSpeech } from './testing.ts'
import { voice } from './voice.ts'

/** A character of the scripted voice takes so long: a sentence of 25 takes 50 ms, so that tests are short. */
export const msPerChar = 2
export const sampleRate = 16_000

export interface DeskOptions extends Partial<VoiceOptions> {
  readonly agents: Agent
  readonly script?: ScriptedSpeechOptions
  readonly app?: Partial<AppOptions>
}

/** A server that speaks, on a port of its own, closed when the test is over. */
export async function openDesk({ agents, script = {}, app: more = {}, ...options }: DeskOptions) {
  const speech = scriptedSpeech({ msPerChar, sampleRate, chunkMs: 40, ...script })
  const errors: unknown[] = []
  const spoken = voice({ speech, onError: (error) => errors.push(error), ...options })
  const limits = { requestsPerSecond: 100_000 }
  const app = serve({ agents, flushMs: 0, voice: spoken, limits, onError: () => {}, ...more })
  const { url } = await app.listen()
  onTestFinished(async () => {
    await app.close({ graceMs: 0 })
    await spoken.close()
  })
  return { app, url, speech, errors, thread: (id: string) => app.thread(id) }
}

export interface Call extends TestClient {
  send(frame: VoiceCommand | Record<string, unknown>): void
  /** Speaks into the microphone. */
  speak(pcm: Int16Array): void
  sendBytes(bytes: Uint8Array): void
  /** Everything that came as text, also what is not about the voice. */
  readonly texts: Record<string, unknown>[]
  /** Stops playing, and tells the server where. */
  interrupt(): void
  /** What the connection was closed with. */
  closeCode(): number | undefined
  hangUp(): Promise<void>
}

export interface CallOptions {
  readonly listen?: boolean
  readonly speak?: boolean
  readonly from?: VoicePlace
  /** A client that never tells how far it has played. */
  readonly isMute?: boolean
}

/** Calls a thread. Resolves when the server has said what is on. */
export async function call(url: string, threadId: string, options: CallOptions = {}): Promise<Call> {
  const { listen = false, speak = true, from, isMute = false } = options
  const ws = new WebSocket(`${url.replace(/^http/, 'ws')}/threads/${threadId}/socket`, ['millrace.v1'])
  const texts: Record<string, unknown>[] = []
  const client = testClient({
    clock: systemClock,
    sampleRate,
    stepMs: 4,
    ...(!isMute && {
      report: (turn: number, position: number) => send({ type: 'voice_played', turn, position }),
    }),
  })
  const ready = Promise.withResolvers<void>()
  let closeCode: number | undefined
  const closed = new Promise<void>((resolve) => {
    ws.on('close', (code) => {
      closeCode = code
      resolve()
    })
  })
  let seq = 0

  function send(frame: object) {
    if (ws.readyState === ws.OPEN) ws.send(JSON.stringify(frame))
  }

  ws.on('message', (data: Buffer, isBinary) => {
    if (isBinary) return client.audio(new Uint8Array(data))
    const frame = JSON.parse(String(data))
    texts.push(frame)
    if (frame.type === 'ready') send({ type: 'voice', speak, listen, sampleRate, ...(from && { from }) })
    if (String(frame.type).startsWith('voice')) client.tell(frame)
    if (frame.type === 'voice') ready.resolve()
    if (frame.type === 'error') ready.reject(new Error(frame.message))
  })
  ws.on('error', ready.reject)
  async function hangUp() {
    client.close()
    ws.terminate()
    await closed
  }
  onTestFinished(hangUp)
  await ready.promise
  return {
    ...client,
    texts,
    send,
    speak(pcm) {
      ws.send(writeAudioFrame({ kind: 'microphone', turn: 0, seq: seq++, position: 0, pcm }))
    },
    sendBytes: (bytes) => ws.send(bytes),
    closeCode: () => closeCode,
    interrupt() {
      const turn = client.playing() ?? 1
      client.tell({ type: 'voice_hush', turn })
      send({ type: 'voice_interrupt', turn, position: client.position(turn) })
    },
    hangUp,
  }
}

/** The words of an answer, with what was not heard of them. */
export function textPartsOf(message: Message): TextPart[] {
  return message.role === 'assistant' ? message.content.filter((part) => part.type === 'text') : []
}
