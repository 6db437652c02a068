import type { Thread } from 'millrace'
import { publicError } from 'millrace/internal'
import type { VoiceOutlet } from 'millrace/server'
import type { HearingEvent, Listener } from '../listener.ts'
import type { VoiceSettings } from '../options.ts'
import type { SpeechOutput } from '../speaking/speech-output.ts'
import type { BargeInAction } from './barge-in.ts'
import { bargeIn } from './barge-in.ts'

export interface EarOptions extends VoiceSettings {
  readonly listener: Listener
  readonly thread: Thread
  readonly outlet: VoiceOutlet
  readonly sampleRate: number
  readonly allow: () => void | Promise<void>
  /** What speaks to the same client, if anything does. */
  readonly mouth: () => SpeechOutput | undefined
}

/** Listens to one client: what it says becomes input, and may interrupt what is being said to it. */
export interface Ear {
  hear(pcm: Int16Array): void
  close(): void
}

export function openEar(options: EarOptions): Ear {
  const { listener, thread, outlet, sampleRate, language, onInterrupt, clock, allow, mouth, onError } =
    options
  const interruption = options.bargeIn ? bargeIn({ language, ...options.bargeIn }) : undefined
  const cancel = onInterrupt === 'cancel'
  let isClosed = false
  /** Somebody is speaking; it overlaps if the agent spoke too. */
  let current: { overlaps: boolean } | undefined
  let lastVoiceAt = 0
  /** Utterances that are over, and whose words are not known yet. */
  const untold: { readonly overlaps: boolean; readonly endedAt: number }[] = []
  /** One after the other, so that what was heard is in the log before what is said next. */
  let acts: Promise<void> = Promise.resolve()

  function act(deed: () => Promise<void>) {
    acts = acts.then(deed).catch(failed)
  }

  function failed(error: unknown) {
    const { message } = publicError(error, onError)
    outlet.tell({ type: 'voice_error', message })
  }

  function follow(action: BargeInAction | undefined) {
    // A listener of somebody else's may reject all the same.
    if (action === 'suspect') suspect().catch(failed)
    if (action === 'pause') mouth()?.pause()
    if (action === 'resume') mouth()?.resume()
    if (action === 'interrupt' && mouth()?.isSpeaking) act(async () => mouth()?.interrupt({ cancel }))
  }

  async function suspect() {
    const utterance = current
    const text = await hearing.soFar()
    // It may be over by now, and all of it known.
    if (isClosed || current !== utterance) return
    if (text) outlet.tell({ type: 'voice_transcript', text, final: false })
    follow(interruption?.words(text))
  }

  async function say(text: string, endedAt: number) {
    await allow()
    const seq = await thread.send(text, { mode: cancel ? 'interrupt' : 'steer' })
    mouth()?.asked(seq, endedAt)
    outlet.tell({ type: 'voice_transcript', text, final: true, seq })
  }

  function beginUtterance() {
    current = { overlaps: false }
    outlet.tell({ type: 'voice_hearing', speech: true })
    // What was decided about an earlier answer is no matter any more.
    if (untold.length === 0) interruption?.reset()
  }

  function take(event: HearingEvent) {
    switch (event.type) {
      case 'speech':
        lastVoiceAt = clock.now()
        if (!current) beginUtterance()
        if (!mouth()?.isSpeaking || !current) return
        current.overlaps = true
        return follow(interruption?.speech(event.ms))
      case 'silence':
        outlet.tell({ type: 'voice_hearing', speech: false })
        if (current?.overlaps) interruption?.silence()
        untold.push({ overlaps: current?.overlaps === true, endedAt: lastVoiceAt })
        current = undefined
        return
      case 'transcript': {
        const { overlaps, endedAt } = untold.shift() ?? { overlaps: false, endedAt: lastVoiceAt }
        return understood(event.text.trim(), { overlaps, endedAt })
      }
      case 'failed':
        outlet.tell({ type: 'voice_error', message: 'what was said could not be understood' })
        return onError(event.error)
    }
  }

  function understood(text: string, { overlaps, endedAt }: { overlaps: boolean; endedAt: number }) {
    const isSpeaking = mouth()?.isSpeaking === true
    const action = overlaps ? interruption?.transcript(text) : undefined
    follow(action)
    // Said over the agent's words it has to be meant; said over the last of them it may well be the answer.
    const isMeant = !overlaps || action === 'interrupt' || !isSpeaking
    if (text && isMeant) act(() => say(text, endedAt))
    else if (text) outlet.tell({ type: 'voice_transcript', text, final: true })
  }

  const hearing = listener.listen({
    sampleRate,
    language,
    onEvent(event) {
      if (!isClosed) take(event)
    },
  })

  return {
    hear: (pcm) => hearing.hear(pcm),
    close() {
      isClosed = true
      hearing.close()
      // A pause that nobody will end would last for ever.
      mouth()?.resume()
    },
  }
}
