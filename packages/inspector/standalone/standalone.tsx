import type { ExportedThread } from 'millrace/client'
import { useRef } from 'preact/hooks'
import { Conversation } from '../chat/conversation.tsx'
import { ThreadLine } from '../chat/thread-line.tsx'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { useAction } from '../keyboard.ts'
import { Panel } from '../panel.tsx'
import type { Session } from '../session.ts'
import { panelOpen, panelWidth } from '../state.ts'
import { ThemeSwitch } from '../theme-switch.tsx'
import { Toasts } from '../toast.tsx'
import type { ListHandle } from '../virtual/virtual-list.tsx'
import '../styles/base.css'
import '../styles/app.css'
import '../chat/chat.css'
import './standalone.css'

export interface StandaloneProps {
  readonly thread: ExportedThread['thread']
  readonly session: Session
}

/** An exported thread: the conversation and the inspector, read-only. */
export function Standalone({ thread: { title, id }, session }: StandaloneProps) {
  const list = useRef<ListHandle>(null)
  useAction({ id: 'inspector', keys: 'i', label: 'Toggle inspector', run: togglePanel })
  return (
    <div
      class="app standalone"
      data-list={false}
      data-panel={panelOpen.value}
      style={{ '--panel': panelWidth.value && `${panelWidth.value}px` }}
    >
      <header class="app-bar">
        <h1 dir="auto">{visible(title ?? id)}</h1>
        <span class="app-space" />
        <ThemeSwitch />
        <button
          type="button"
          class="plain"
          aria-expanded={panelOpen.value}
          aria-label="Inspect"
          title="Inspector (i)"
          onClick={togglePanel}
        >
          <Icon name="panel" /> <span class="app-wide">Inspect</span>
        </button>
      </header>
      <main class="app-chat" id="chat" tabIndex={-1}>
        <div class="chat">
          <Conversation session={session} list={list} />
          <div class="chat-foot">
            <ThreadLine session={session} />
          </div>
        </div>
      </main>
      {panelOpen.value && <Panel session={session} />}
      <Toasts />
    </div>
  )
}

function togglePanel() {
  panelOpen.value = !panelOpen.value
}
