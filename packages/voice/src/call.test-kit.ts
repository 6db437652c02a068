import type { Agent, AppOptions, Message, TextPart } from 'millrace'
import { serve } from 'millrace/server'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { VoiceCommand, VoicePosition } from '../../millrace/src/protocol/index.ts'
import { systemClock, writeAudioFrame } from '../../millrace/src/protocol/index.ts'
import { type TestClient, testClient } from './client.test-kit.ts'
import type { VoiceOptions } from './options.ts'
import { type ScriptedSpeechOptions, scriptedSpeech } from './testing.ts'
import { voice } from './voice.ts'

/**
 * The time per character of the scripted voice: a sentence of 25 takes 50 ms, so that tests are
 * short.
 */
export const msPerChar = 2
export const sampleRate = 16_000

export interface VoiceServerOptions extends Partial<VoiceOptions> {
  readonly agents: Agent
  readonly script?: ScriptedSpeechOptions
  readonly app?: Partial<AppOptions>
}

/** A server with a voice, on its own port, closed after the test. */
export async function startVoiceServer({
  agents,
  script = {},
  app: appOptions = {},
  ...options
}: VoiceServerOptions) {
  const speech = scriptedSpeech({ msPerChar, sampleRate, chunkMs: 40, ...script })
  const errors: unknown[] = []
  const spoken = voice({ speech, onError: (error) => errors.push(error), ...options })
  const limits = { requestsPerSecond: 100_000 }
  const app = serve({ agents, flushMs: 0, voice: spoken, limits, onError: () => {}, ...appOptions })
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
  /** All text frames, including those not about voice. */
  readonly texts: Record<string, unknown>[]
  /** Stops playing and reports the position to the server. */
  interrupt(): void
  /** The close code of the connection. */
  closeCode(): number | undefined
  hangUp(): Promise<void>
}

export interface CallOptions {
  readonly listen?: boolean
  readonly speak?: boolean
  readonly from?: VoicePosition
  /** A client that never reports its position. */
  readonly neverReports?: boolean
}

/** Connects to a thread. Resolves when the server has confirmed the voice settings. */
export async function call(url: string, threadId: string, options: CallOptions = {}): Promise<Call> {
  const { listen = false, speak = true, from, neverReports = false } = options
  const ws = new WebSocket(`${url.replace(/^http/, 'ws')}/threads/${threadId}/socket`, ['millrace.v1'])
  const texts: Record<string, unknown>[] = []
  const client = testClient({
    clock: systemClock,
    sampleRate,
    stepMs: 4,
    ...(!neverReports && {
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
    if (isBinary) return client.sendAudio(new Uint8Array(data))
    const frame = JSON.parse(String(data))
    texts.push(frame)
    if (frame.type === 'ready') send({ type: 'voice', speak, listen, sampleRate, ...(from && { from }) })
    if (String(frame.type).startsWith('voice')) client.send(frame)
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
      client.send({ type: 'voice_silence', turn })
      send({ type: 'voice_interrupt', turn, position: client.position(turn) })
    },
    hangUp,
  }
}

/** The text of an answer, with what was not played of it. */
export function textPartsOf(message: Message): TextPart[] {
  return message.role === 'assistant' ? message.content.filter((part) => part.type === 'text') : []
}
