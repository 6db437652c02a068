import { useEffect } from 'preact/hooks'
import { useAction } from '../keyboard.ts'
import type { Session } from '../session.ts'
import { currentSentence, silence } from '../voice/voice.ts'
import { stop } from './actions.ts'

/** The longest time between two presses of Escape that stop the run. */
const twiceMs = 600

/** Escape silences the voice. Pressed twice, it stops the run. */
export function useStopKeys(running: Session | undefined): void {
  useAction({
    id: 'stop',
    keys: 'mod+.',
    label: 'Stop the run (or press Escape twice)',
    isAvailable: () => running !== undefined || currentSentence.value !== '',
    run() {
      silence()
      if (running) void stop(running)
    },
    whileTyping: true,
  })
  useEffect(() => {
    let last = -twiceMs
    function onKeyDown({ key, timeStamp, repeat }: KeyboardEvent) {
      // A key that is held down counts once. In a dialog, Escape closes the dialog.
      if (key !== 'Escape' || repeat || document.querySelector('dialog[open]')) return
      silence()
      if (timeStamp - last < twiceMs && running) void stop(running)
      last = timeStamp
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [running])
}
