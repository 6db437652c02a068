import { client } from 'millrace/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sentence, turnOf } from '../../millrace/src/client/voice-line.test-kit.ts'
import {
  manualMicrophone,
  manualPlayer,
  type VoiceServerOptions,
  voiceServer,
} from '../../millrace/src/client/voice-server.test-kit.ts'
import type { VoiceHandle } from './voice-store.ts'
import { voiceStore } from './voice-store.ts'

/** A store whose audio goes to and from the test, on a voice server. */
async function openVoice(options: VoiceServerOptions & { readonly microphoneError?: Error } = {}) {
  const server = await voiceServer(options)
  const store = voiceStore()
  const players: ReturnType<typeof manualPlayer>[] = []
  const microphones: ReturnType<typeof manualMicrophone>[] = []
  const made = <Item>(list: Item[], item: Item) => {
    list.push(item)
    return item
  }
  const { microphoneError: openError } = options
  store.update(async () => client(server.url, { retry: { baseMs: 1 } }).thread('t1'), {
    player: () => made(players, manualPlayer()).player,
    microphone: () => made(microphones, manualMicrophone(openError ? { openError } : {})).microphone,
  })
  const unsubscribe = store.subscribe(() => {})
  onTestFinished(async () => {
    unsubscribe()
    await store.getSnapshot().stop()
    await server[Symbol.asyncDispose]()
  })
  const until = (fits: (voice: VoiceHandle) => boolean) =>
    expect.poll(() => fits(store.getSnapshot()), { interval: 5 }).toBe(true)
  return {
    server,
    players,
    microphones,
    until,
    get now() {
      return store.getSnapshot()
    },
  }
}

const quiet = { isSpeaking: false, sentence: '', isUserSpeaking: false, transcript: '', error: undefined }

describe('a voice', () => {
  test('is closed until it is started, and after it is stopped', async () => {
    const voice = await openVoice()
    expect(voice.now).toMatchObject({ state: 'closed', ...quiet })
    const starting = voice.now.start()
    expect(voice.now.state).toBe('connecting')
    await starting
    await voice.until(({ state }) => state === 'open')
    expect((await voice.server.connection(0)).commands[0]).toMatchObject({ speak: true, listen: true })
    await voice.now.stop()
    expect(voice.now).toMatchObject({ state: 'closed', ...quiet })
    expect(voice.microphones[0]?.log).toEqual(['open', 'close'])
    expect(voice.players[0]?.log).toEqual(['open', 'close'])
  })

  test('has the sentence that is being played', async () => {
    const voice = await openVoice()
    await voice.now.start({ listen: false })
    const connection = await voice.server.connection(0)
    await voice.until(({ state }) => state === 'open')
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    const [player] = voice.players
    await expect.poll(() => player?.hasAudio()).toBe(true)
    player?.play(10)
    expect(voice.now).toMatchObject({ isSpeaking: true, sentence: 'Sentence 0' })
    player?.play(2000)
    expect(voice.now).toMatchObject({ isSpeaking: false, sentence: '' })
    expect(voice.microphones).toEqual([])
  })

  test('has what the user says, and how loud', async () => {
    const voice = await openVoice()
    await voice.now.start({ speak: false })
    const connection = await voice.server.connection(0)
    await voice.until(({ state }) => state === 'open')
    expect(voice.now.level()).toBe(0)
    voice.microphones[0]?.say(new Int16Array(480).fill(16_384))
    expect(voice.now.level()).toBeCloseTo(0.5)
    connection.send({ type: 'voice_speech', speaking: true })
    connection.send({ type: 'voice_transcript', text: 'Where is', final: false })
    await voice.until(({ isUserSpeaking, transcript }) => isUserSpeaking && transcript === 'Where is')
    connection.send({ type: 'voice_speech', speaking: false })
    connection.send({ type: 'voice_transcript', text: 'Where is it?', final: true })
    await voice.until(({ isUserSpeaking, transcript }) => !isUserSpeaking && transcript === '')
    expect(voice.players).toEqual([])
  })

  test('continues where it was with other options', async () => {
    const voice = await openVoice()
    await voice.now.start({ listen: false })
    const connection = await voice.server.connection(0)
    await voice.until(({ state }) => state === 'open')
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    await expect.poll(() => voice.players[0]?.hasAudio()).toBe(true)
    voice.players[0]?.play(500)
    await voice.now.start()
    const next = await voice.server.connection(1)
    expect(next.commands[0]).toMatchObject({ listen: true, from: { seq: 7, round: 1 } })
    expect(voice.players[0]?.log).toEqual(['open', 'close'])
    await voice.until(({ state }) => state === 'open')
  })

  test('can be interrupted', async () => {
    const voice = await openVoice()
    await voice.now.start({ listen: false })
    const connection = await voice.server.connection(0)
    await voice.until(({ state }) => state === 'open')
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    await expect.poll(() => voice.players[0]?.hasAudio()).toBe(true)
    voice.players[0]?.play(500)
    voice.now.interrupt()
    await expect.poll(() => connection.reports().some(({ type }) => type === 'voice_interrupt')).toBe(true)
  })

  test('is closed with an error if there is no microphone', async () => {
    const voice = await openVoice({ microphoneError: new Error('no microphone found') })
    await voice.now.start()
    await voice.until(({ state, error }) => state === 'closed' && error !== undefined)
    expect(voice.now.error).toContain('no microphone found')
    await voice.now.start({ listen: false })
    await voice.until(({ state, error }) => state === 'open' && error === undefined)
  })

  test('that is stopped while it starts stays closed', async () => {
    const voice = await openVoice()
    const starting = voice.now.start()
    await voice.now.stop()
    await starting
    expect(voice.now.state).toBe('closed')
    expect(voice.players).toEqual([])
  })
})
