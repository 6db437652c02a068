import { openRuns } from './api.ts'
import { panelShown } from './extra-view.tsx'
import { IconButton } from './icon-button.tsx'
import { Icon } from './icons.tsx'
import { Keys } from './keys.tsx'
import { panelOpen, session, threadsDocked, threadsOpen } from './state.ts'
import { ThemeSwitch } from './theme-switch.tsx'
import { OpenTitle } from './threads/open-title.tsx'

export interface BarProps {
  onHelp(): void
  onPalette(): void
  onThreads(): void
}

export function Bar({ onHelp, onPalette, onThreads }: BarProps) {
  const { value: open } = session
  return (
    <header class="app-bar">
      <IconButton
        icon="sidebar"
        label="Threads"
        expanded={threadsOpen.value || threadsDocked.value === 'shown'}
        onClick={onThreads}
      />
      <h1>Millrace</h1>
      {open && <OpenTitle session={open} key={open} />}
      <span class="app-space" />
      <button type="button" class="plain app-search" title="Commands" onClick={onPalette}>
        <Icon name="search" /> <span class="app-wide">Commands</span>
        <span class="app-wide">
          <Keys keys="mod+k" />
        </span>
      </button>
      <IconButton icon="activity" label="Active runs" onClick={openRuns} />
      <ThemeSwitch />
      <IconButton icon="help" label="Keyboard shortcuts" class="app-roomy" onClick={onHelp} />
      <button
        type="button"
        class="plain"
        aria-expanded={panelShown.value}
        disabled={!open}
        aria-label="Inspect"
        title="Inspector (i)"
        onClick={() => (panelOpen.value = !panelOpen.value)}
      >
        <Icon name="panel" /> <span class="app-wide">Inspect</span>
      </button>
    </header>
  )
}
