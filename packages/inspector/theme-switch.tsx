import { IconButton } from './icon-button.tsx'
import type { IconName } from './icons.tsx'
import type { Theme } from './state.ts'
import { theme } from './state.ts'

export const themes: readonly { readonly name: Theme; readonly icon: IconName }[] = [
  { name: 'system', icon: 'system' },
  { name: 'light', icon: 'sun' },
  { name: 'dark', icon: 'moon' },
]

/** One button that cycles through the themes. */
export function ThemeSwitch() {
  const at = themes.findIndex(({ name }) => name === theme.value)
  const shown = themes[at] ?? themes[0]
  const next = themes[(at + 1) % themes.length]
  if (!shown || !next) return null
  const label = `Theme: ${shown.name} (switch to ${next.name})`
  return (
    <IconButton icon={shown.icon} label={label} class="app-roomy" onClick={() => (theme.value = next.name)} />
  )
}
