import type { Signal } from '@preact/signals'
import { IconButton } from '../icon-button.tsx'
import type { IconName } from '../icons.tsx'
import { useShortcut } from '../keyboard.ts'
import { abilities, listening, speaking } from './voice.ts'

/** To be heard and to hear, where the server can. */
export function VoiceButtons() {
  const { speak, listen } = abilities.value
  return (
    <>
      {speak && <Switch icon="speaker" keys="v" label="Speak the answers" on={speaking} />}
      {listen && <Switch icon="microphone" keys="m" label="Listen to the microphone" on={listening} />}
    </>
  )
}

interface SwitchProps {
  readonly icon: IconName
  readonly keys: string
  readonly label: string
  readonly on: Signal<boolean>
}

function Switch({ icon, keys, label, on }: SwitchProps) {
  const toggle = () => (on.value = !on.value)
  useShortcut({ keys, does: `${label}, or no more`, run: toggle })
  return <IconButton icon={icon} label={label} pressed={on.value} onClick={toggle} />
}
