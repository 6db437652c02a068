import type { Thread } from 'millrace'
import { publicError } from 'millrace/internal'
import type { VoiceOutlet } from 'millrace/server'
import type { Listener, ListeningEvent } from '../listener.ts'
import type { VoiceSettings } from '../options.ts'
import type { SpeechOutput } from '../speaking/speech-output.ts'
import type { BargeInAction } from './barge-in.ts'
import { bargeIn } from './barge-in.ts'

export interface SpeechInputOptions extends VoiceSettings {
  readonly listener: Listener
  readonly thread: Thread
  readonly outlet: VoiceOutlet
  readonly sampleRate: number
  readonly authorize: () => void | Promise<void>
  /** The speech output of the same client, if it is on. */
  readonly speechOutput: () => SpeechOutput | undefined
}

/** Listens to one client: its speech becomes input and may interrupt the agent. */
export interface SpeechInput {
  push(pcm: Int16Array): void
  close(): void
}

export function openSpeechInput(options: SpeechInputOptions): SpeechInput {
  const {
    listener,
    thread,
    outlet,
    sampleRate,
    language,
    onInterrupt,
    clock,
    authorize,
    speechOutput,
    onError,
  } = options
  const interruption = options.bargeIn ? bargeIn({ language, ...options.bargeIn }) : undefined
  const cancel = onInterrupt === 'cancel'
  let isClosed = false
  /** The current utterance. It overlaps if the agent was speaking too. */
  let current: { overlaps: boolean } | undefined
  let lastVoiceAt = 0
  /** Ended utterances without a transcript. */
  const awaitingTranscript: { readonly overlaps: boolean; readonly endedAt: number }[] = []
  /** Runs one at a time, so that the log has what was played before what the user says next. */
  let pendingActions: Promise<void> = Promise.resolve()

  function enqueue(action: () => Promise<void>) {
    pendingActions = pendingActions.then(action).catch(reportFailure)
  }

  function reportFailure(error: unknown) {
    const { message } = publicError(error, onError)
    outlet.send({ type: 'voice_error', message })
  }

  function applyAction(action: BargeInAction | undefined) {
    // A custom listener may reject despite the contract.
    if (action === 'check') checkPartialTranscript().catch(reportFailure)
    if (action === 'pause') speechOutput()?.pause()
    if (action === 'resume') speechOutput()?.resume()
    if (action === 'interrupt' && speechOutput()?.isSpeaking)
      enqueue(async () => speechOutput()?.interrupt({ cancel }))
  }

  async function checkPartialTranscript() {
    const utterance = current
    const text = await session.partialTranscript()
    // The utterance may have ended in the meantime.
    if (isClosed || current !== utterance) return
    if (text) outlet.send({ type: 'voice_transcript', text, final: false })
    applyAction(interruption?.partialTranscript(text))
  }

  async function sendMessage(text: string, endedAt: number) {
    await authorize()
    const seq = await thread.send(text, { mode: cancel ? 'interrupt' : 'steer' })
    speechOutput()?.messageSpoken(seq, endedAt)
    outlet.send({ type: 'voice_transcript', text, final: true, seq })
  }

  function startUtterance() {
    current = { overlaps: false }
    outlet.send({ type: 'voice_speech', speaking: true })
    // Decisions about an earlier answer no longer apply.
    if (awaitingTranscript.length === 0) interruption?.reset()
  }

  function handleEvent(event: ListeningEvent) {
    switch (event.type) {
      case 'speech':
        lastVoiceAt = clock.now()
        if (!current) startUtterance()
        if (!speechOutput()?.isSpeaking || !current) return
        current.overlaps = true
        return applyAction(interruption?.speech(event.ms))
      case 'silence':
        outlet.send({ type: 'voice_speech', speaking: false })
        if (current?.overlaps) interruption?.silence()
        awaitingTranscript.push({ overlaps: current?.overlaps === true, endedAt: lastVoiceAt })
        current = undefined
        return
      case 'transcript': {
        const { overlaps, endedAt } = awaitingTranscript.shift() ?? { overlaps: false, endedAt: lastVoiceAt }
        return handleTranscript(event.text.trim(), { overlaps, endedAt })
      }
      case 'failed':
        outlet.send({ type: 'voice_error', message: 'your speech could not be transcribed' })
        return onError(event.error)
    }
  }

  function handleTranscript(text: string, { overlaps, endedAt }: { overlaps: boolean; endedAt: number }) {
    const isSpeaking = speechOutput()?.isSpeaking === true
    const action = overlaps ? interruption?.transcript(text) : undefined
    applyAction(action)
    // Speech over the agent's must be an interruption to count, unless the agent has finished by
    // now:
    // then it may well be the answer.
    const isIntended = !overlaps || action === 'interrupt' || !isSpeaking
    if (text && isIntended) enqueue(() => sendMessage(text, endedAt))
    else if (text) outlet.send({ type: 'voice_transcript', text, final: true })
  }

  const session = listener.listen({
    sampleRate,
    language,
    onEvent(event) {
      if (!isClosed) handleEvent(event)
    },
  })

  return {
    push: (pcm) => session.push(pcm),
    close() {
      isClosed = true
      session.close()
      // Otherwise a pause would never end.
      speechOutput()?.resume()
    },
  }
}
