import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Extra, extraLabels, extraView } from './extra-view.tsx'
import { IconButton } from './icon-button.tsx'
import { lazy } from './lazy.tsx'
import { PanelEdge } from './panel-edge.tsx'
import type { Session } from './session.ts'
import type { Panel as PanelName } from './state.ts'
import { panel, panelOpen } from './state.ts'

export const panelTabs: readonly { readonly name: PanelName; readonly label: string }[] = [
  { name: 'timeline', label: 'Timeline' },
  { name: 'detail', label: 'Detail' },
  { name: 'events', label: 'Events' },
]

const views = {
  timeline: lazy(async () => (await import('./timeline/timeline.tsx')).Timeline),
  detail: lazy(async () => (await import('./detail/detail.tsx')).Detail),
  events: lazy(async () => (await import('./detail/events.tsx')).Events),
}

/** Without a thread, only an agent can be shown. */
function shownTabs(session: Session | undefined): typeof panelTabs {
  const { value: extra } = extraView
  const tabs = session ? panelTabs : []
  return extra ? [...tabs, { name: 'extra', label: extraLabels[extra.kind] }] : tabs
}

/** The inspector panel: timeline, detail and events of the open thread, or how an agent is set up. */
export function Panel({ session }: { readonly session: Session | undefined }) {
  const wide = useSignal(false)
  const shown = session ? panel.value : 'extra'
  const tabs = shownTabs(session)
  // On a phone, the row of tabs scrolls.
  useEffect(() => {
    document.getElementById(`tab-${shown}`)?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [shown])
  const size = wide.value ? 'Show next to the chat' : 'Expand to full width'
  return (
    <aside class="app-panel" aria-label="Inspector" data-wide={wide.value}>
      <PanelEdge />
      <div class="app-panel-head">
        <div role="tablist" aria-label="Inspector" onKeyDown={(event) => moveBetweenTabs(event, tabs)}>
          {tabs.map(({ name, label }) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${name}`}
              class="plain"
              aria-selected={shown === name}
              aria-controls="panel"
              tabIndex={shown === name ? 0 : -1}
              onClick={() => (panel.value = name)}
            >
              {label}
            </button>
          ))}
        </div>
        <span class="app-space" />
        <IconButton
          icon="expand"
          label={size}
          class="app-wide-button"
          onClick={() => (wide.value = !wide.value)}
        />
        <IconButton icon="close" label="Close inspector" onClick={() => (panelOpen.value = false)} />
      </div>
      <div class="app-panel-body" role="tabpanel" id="panel" aria-labelledby={`tab-${shown}`}>
        <View name={shown} session={session} key={shown} />
      </div>
    </aside>
  )
}

interface ViewProps {
  readonly name: PanelName
  readonly session: Session | undefined
}

function View({ name, session }: ViewProps) {
  if (!session || name === 'extra') return <Extra />
  const Shown = views[name]
  return <Shown session={session} />
}

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 }

function moveBetweenTabs(event: KeyboardEvent, tabs: typeof panelTabs) {
  const step = steps[event.key]
  if (step === undefined) return
  event.preventDefault()
  const at = tabs.findIndex(({ name }) => name === panel.value)
  const next = tabs[(at + step + tabs.length) % tabs.length]
  if (!next) return
  panel.value = next.name
  document.getElementById(`tab-${next.name}`)?.focus()
}
