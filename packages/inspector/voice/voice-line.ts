import { effect } from '@preact/signals'
import type { MillraceError, VoiceLine } from 'millrace/client'
import { browserMicrophone, browserPlayer } from 'millrace/client'
import type { Session } from '../session.ts'
import { showNotice } from '../state.ts'
import { highlightSentence } from './highlight.ts'
import { currentSentence, listening, partialTranscript, speaking } from './voice.ts'

export interface VoiceTarget {
  /** The open thread, if any. */
  readonly open: Session | undefined
  readonly enabled: { readonly speak: boolean; readonly listen: boolean }
  readonly isNew: boolean
}

let latest: VoiceTarget | undefined
let line: VoiceLine | undefined

export function interrupt(): void {
  line?.interrupt()
}

/** Connects speech and microphone to the open thread, replacing the previous connection. */
export async function connectVoice(next: VoiceTarget): Promise<void> {
  const before = latest
  const { open, enabled, isNew } = next
  latest = next
  const closed = line?.close()
  line = undefined
  clearIndicators()
  const place = await closed
  if (!open || !(enabled.speak || enabled.listen)) return
  // Toggling the microphone continues speech where it was.
  const continues = before?.open === open && before.enabled.speak && place !== undefined
  const from = continues ? place : isNew && { seq: await firstRun(open), round: 1, chars: 0 }
  if (latest !== next) return
  line = open.thread.voice({
    ...(enabled.speak && { player: browserPlayer() }),
    ...(enabled.listen && { microphone: browserMicrophone() }),
    ...(from && { from }),
    onSentence({ text }) {
      currentSentence.value = text
      highlightSentence(text)
    },
    onRecord: clearIndicators,
    onSpeech(speech) {
      if (speech) partialTranscript.value ||= '…'
      else if (partialTranscript.value === '…') partialTranscript.value = ''
    },
    onTranscript({ text, final }) {
      partialTranscript.value = final ? '' : text
    },
    onError: ({ message }) => showNotice(message),
  })
  line.ended.catch(({ op }: MillraceError) => {
    listening.value = false
    // Speech works without a microphone.
    if (op !== 'client.browserMicrophone') speaking.value = false
  })
}

function clearIndicators() {
  currentSentence.value = ''
  partialTranscript.value = ''
  highlightSentence('')
}

/** Resolves to the number of the first `run-start` of a thread. */
function firstRun({ log, tick }: Session): Promise<number> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      const [run] = tick.value < 0 ? [] : log.runs
      if (!run) return
      resolve(run.seq)
      // An effect cannot dispose itself while it is being created.
      queueMicrotask(() => stop())
    })
  })
}
