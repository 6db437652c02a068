import { IconButton } from './icon-button.tsx'
import type { IconName } from './icons.tsx'
import { Icon } from './icons.tsx'
import type { Theme } from './state.ts'
import { panelOpen, session, theme, threadsOpen } from './state.ts'

const themes: readonly { readonly name: Theme; readonly icon: IconName }[] = [
  { name: 'system', icon: 'system' },
  { name: 'light', icon: 'sun' },
  { name: 'dark', icon: 'moon' },
]

export function Bar({ onHelp }: { readonly onHelp: () => void }) {
  const { value: open } = session
  return (
    <header class="app-bar">
      <IconButton
        icon="list"
        label="Threads"
        class="app-threads-button"
        expanded={threadsOpen.value}
        onClick={() => (threadsOpen.value = !threadsOpen.value)}
      />
      <h1>Millrace</h1>
      <span class="app-space" />
      <ThemeSwitch />
      <IconButton icon="help" label="Keyboard shortcuts" onClick={onHelp} />
      <button
        type="button"
        class="plain"
        aria-expanded={panelOpen.value && open !== undefined}
        disabled={!open}
        title="Inspector (i)"
        onClick={() => (panelOpen.value = !panelOpen.value)}
      >
        <Icon name="panel" /> <span>Inspect</span>
      </button>
    </header>
  )
}

/** One button that cycles through the themes. */
function ThemeSwitch() {
  const at = themes.findIndex(({ name }) => name === theme.value)
  const shown = themes[at] ?? themes[0]
  const next = themes[(at + 1) % themes.length]
  if (!shown || !next) return null
  const label = `Theme: ${shown.name} (switch to ${next.name})`
  return <IconButton icon={shown.icon} label={label} onClick={() => (theme.value = next.name)} />
}
