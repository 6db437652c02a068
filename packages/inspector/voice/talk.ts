import { effect } from '@preact/signals'
import type { MillraceError, VoiceLine } from 'millrace/client'
import { browserMicrophone, browserPlayer } from 'millrace/client'
import type { Session } from '../session.ts'
import { say } from '../state.ts'
import { markSpoken } from './mark.ts'
import { listening, speaking, spoken, understood } from './voice.ts'

export interface Talk {
  /** The thread that is open, if one is. */
  readonly open: Session | undefined
  readonly wish: { readonly speak: boolean; readonly listen: boolean }
  readonly isNew: boolean
}

let latest: Talk | undefined
let line: VoiceLine | undefined

export function interrupt(): void {
  line?.interrupt()
}

/** Speaks and hears another thread than before, or in another way. */
export async function talk(next: Talk): Promise<void> {
  const before = latest
  const { open, wish, isNew } = next
  latest = next
  const closed = line?.close()
  line = undefined
  quiet()
  const place = await closed
  if (!open || !(wish.speak || wish.listen)) return
  // With a microphone or without one, it goes on where it was.
  const goesOn = before?.open === open && before.wish.speak && place !== undefined
  const from = goesOn ? place : isNew && { seq: await firstRun(open), round: 1, chars: 0 }
  if (latest !== next) return
  line = open.thread.voice({
    ...(wish.speak && { player: browserPlayer() }),
    ...(wish.listen && { microphone: browserMicrophone() }),
    ...(from && { from }),
    onSentence({ text }) {
      spoken.value = text
      markSpoken(text)
    },
    onRecord: quiet,
    onHearing(speech) {
      if (speech) understood.value ||= '…'
      else if (understood.value === '…') understood.value = ''
    },
    onTranscript({ text, final }) {
      understood.value = final ? '' : text
    },
    onError: ({ message }) => say(message),
  })
  line.ended.catch(({ op }: MillraceError) => {
    listening.value = false
    // Without a microphone it may still speak.
    if (op !== 'client.browserMicrophone') speaking.value = false
  })
}

function quiet() {
  spoken.value = ''
  understood.value = ''
  markSpoken('')
}

/** The number of the entry with which the first run of a thread began, as soon as there is one. */
function firstRun({ log, tick }: Session): Promise<number> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      const [run] = tick.value < 0 ? [] : log.runs
      if (!run) return
      resolve(run.seq)
      // Not while it is being made.
      queueMicrotask(() => stop())
    })
  })
}
