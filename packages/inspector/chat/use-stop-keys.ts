import { useEffect } from 'preact/hooks'
import { useShortcut } from '../keyboard.ts'
import type { Session } from '../session.ts'
import { hush } from '../voice/voice.ts'
import { stop } from './actions.ts'

/** Two Escapes are meant as one thing only if they come soon after each other. */
const twiceMs = 600

/** One Escape leaves what is being written and hushes what is being said, two stop the run, if one goes on. */
export function useStopKeys(running: Session | undefined): void {
  useShortcut({
    keys: 'mod+.',
    does: 'Stops the run (so does Escape, twice)',
    run() {
      hush()
      if (running) void stop(running)
    },
    whileWriting: true,
  })
  useEffect(() => {
    let last = -twiceMs
    function onKeyDown({ key, timeStamp, repeat }: KeyboardEvent) {
      // Held down it is one Escape; in a dialog it is the dialog's.
      if (key !== 'Escape' || repeat || document.querySelector('dialog[open]')) return
      hush()
      if (timeStamp - last < twiceMs && running) void stop(running)
      last = timeStamp
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [running])
}
