import type { Signal } from '@preact/signals'
import { IconButton } from '../icon-button.tsx'
import type { IconName } from '../icons.tsx'
import { useShortcut } from '../keyboard.ts'
import { capabilities, listening, speaking } from './voice.ts'

/** Toggle buttons for speech and microphone, if the server supports them. */
export function VoiceButtons() {
  const { speak, listen } = capabilities.value
  return (
    <>
      {speak && <Switch icon="speaker" keys="v" label="Speak answers" toggles="speech" on={speaking} />}
      {listen && (
        <Switch icon="microphone" keys="m" label="Use microphone" toggles="microphone" on={listening} />
      )}
    </>
  )
}

interface SwitchProps {
  readonly icon: IconName
  readonly keys: string
  readonly label: string
  /** For the help dialog: "speech". */
  readonly toggles: string
  readonly on: Signal<boolean>
}

function Switch({ icon, keys, label, toggles, on }: SwitchProps) {
  const toggle = () => (on.value = !on.value)
  useShortcut({ keys, label: `Toggle ${toggles}`, run: toggle })
  return <IconButton icon={icon} label={label} pressed={on.value} onClick={toggle} />
}
