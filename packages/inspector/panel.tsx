import { useSignal } from '@preact/signals'
import { Detail } from './detail/detail.tsx'
import { Events } from './detail/events.tsx'
import { IconButton } from './icon-button.tsx'
import type { Session } from './session.ts'
import type { Panel as PanelName } from './state.ts'
import { panel, panelOpen } from './state.ts'
import { Timeline } from './timeline/timeline.tsx'

const tabs: readonly { readonly name: PanelName; readonly label: string }[] = [
  { name: 'timeline', label: 'Timeline' },
  { name: 'detail', label: 'Detail' },
  { name: 'events', label: 'Events' },
]

const views = { timeline: Timeline, detail: Detail, events: Events }

/** The inspector panel: timeline, detail and events of the open thread. */
export function Panel({ session }: { readonly session: Session }) {
  const wide = useSignal(false)
  const View = views[panel.value]
  const size = wide.value ? 'Show next to the chat' : 'Expand to full width'
  return (
    <aside class="app-panel" aria-label="Inspector" data-wide={wide.value}>
      <div class="app-panel-head">
        <div role="tablist" aria-label="Inspector" onKeyDown={moveBetweenTabs}>
          {tabs.map(({ name, label }) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${name}`}
              class="plain"
              aria-selected={panel.value === name}
              aria-controls="panel"
              tabIndex={panel.value === name ? 0 : -1}
              onClick={() => (panel.value = name)}
            >
              {label}
            </button>
          ))}
        </div>
        <span class="app-space" />
        <IconButton
          icon="panel"
          label={size}
          class="app-wide-button"
          onClick={() => (wide.value = !wide.value)}
        />
        <IconButton icon="close" label="Close inspector" onClick={() => (panelOpen.value = false)} />
      </div>
      <div class="app-panel-body" role="tabpanel" id="panel" aria-labelledby={`tab-${panel.value}`}>
        <View session={session} />
      </div>
    </aside>
  )
}

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 }

function moveBetweenTabs(event: KeyboardEvent) {
  const step = steps[event.key]
  if (step === undefined) return
  event.preventDefault()
  const at = tabs.findIndex(({ name }) => name === panel.value)
  const next = tabs[(at + step + tabs.length) % tabs.length]
  if (!next) return
  panel.value = next.name
  document.getElementById(`tab-${next.name}`)?.focus()
}
