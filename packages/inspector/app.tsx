import { useSignal } from '@preact/signals'
import { signedOut } from './api.ts'
import { Bar } from './bar.tsx'
import { Chat } from './chat/chat.tsx'
import { Help } from './help.tsx'
import { useShortcut } from './keyboard.ts'
import { Panel } from './panel.tsx'
import { SignIn } from './sign-in.tsx'
import { notice, panelOpen, session, threadsOpen } from './state.ts'
import { Threads } from './threads/threads.tsx'

/** The whole page: thread list, chat, and inspector panel. */
export function App() {
  const helping = useSignal(false)
  useShortcut({ keys: '?', label: 'Show keyboard shortcuts', run: () => (helping.value = true) })
  useShortcut({ keys: 'i', label: 'Toggle inspector', run: togglePanel })
  const { value: open } = session
  return (
    <div class="app" data-threads={threadsOpen.value} data-panel={panelOpen.value && open !== undefined}>
      <button type="button" class="app-skip" onClick={() => document.getElementById('chat')?.focus()}>
        Skip to chat
      </button>
      <Bar onHelp={() => (helping.value = true)} />
      <nav class="app-threads" aria-label="Threads">
        <Threads />
      </nav>
      <main class="app-chat" id="chat" tabIndex={-1}>
        <Chat session={open} key={open} />
      </main>
      {panelOpen.value && open && <Panel session={open} key={open} />}
      <div class="app-notice" role="status">
        {notice.value}
      </div>
      {helping.value && <Help onClose={() => (helping.value = false)} />}
      {signedOut.value && <SignIn />}
    </div>
  )
}

function togglePanel() {
  panelOpen.value = !panelOpen.value
}
