import { useSignal } from '@preact/signals'
import { isRunsOpen, newThread, openRuns, signedOut } from './api.ts'
import { Bar } from './bar.tsx'
import { Chat } from './chat/chat.tsx'
import { panelShown } from './extra-view.tsx'
import { useAction } from './keyboard.ts'
import { lazy } from './lazy.tsx'
import { Panel } from './panel.tsx'
import { SignIn } from './sign-in.tsx'
import { panelOpen, panelWidth, session, threadsDocked, threadsOpen } from './state.ts'
import { importDrop } from './threads/import.ts'
import { Threads } from './threads/threads.tsx'
import { Toasts } from './toast.tsx'

const Help = lazy(async () => (await import('./help.tsx')).Help)
const Palette = lazy(async () => (await import('./palette/palette.tsx')).Palette)
const Runs = lazy(async () => (await import('./runs/runs.tsx')).Runs)

interface Overlay {
  readonly kind: 'help' | 'palette'
}

/** The whole page: thread list, chat or active runs, and inspector panel. */
export function App() {
  const overlay = useSignal<Overlay | undefined>(undefined)
  const openHelp = () => (overlay.value = { kind: 'help' })
  const openPalette = () => (overlay.value = { kind: 'palette' })
  /** A dialog that closes says so a moment later. By then another may have been opened. */
  const close = (one: Overlay) => () => {
    if (overlay.value === one) overlay.value = undefined
  }
  const { value: shown } = overlay
  const { value: open } = session
  useAction({ id: 'palette', label: 'Commands', keys: 'mod+k', run: openPalette, whileTyping: true })
  useAction({ id: 'new-thread', label: 'New thread', keys: 'n', run: newThread })
  useAction({ id: 'inspector', label: 'Toggle inspector', keys: 'i', run: togglePanel })
  useAction({
    id: 'thread-list',
    label: 'Toggle thread list',
    keys: 'mod+b',
    run: toggleThreads,
    whileTyping: true,
  })
  useAction({ id: 'runs', label: 'Active runs', keys: 'r', run: openRuns })
  useAction({ id: 'help', label: 'Keyboard shortcuts', keys: '?', run: openHelp })
  return (
    <div
      class="app"
      data-threads={threadsOpen.value}
      data-list={threadsDocked.value === 'shown'}
      data-panel={panelShown.value}
      style={{ '--panel': panelWidth.value && `${panelWidth.value}px` }}
      {...importDrop}
    >
      <button type="button" class="app-skip" onClick={() => document.getElementById('chat')?.focus()}>
        Skip to chat
      </button>
      <Bar onHelp={openHelp} onPalette={openPalette} onThreads={toggleThreads} />
      <nav class="app-threads" aria-label="Threads">
        <Threads />
      </nav>
      <main class="app-chat" id="chat" tabIndex={-1}>
        {isRunsOpen.value ? <Runs /> : <Chat session={open} key={open} />}
      </main>
      {panelShown.value && <Panel session={open} key={open} />}
      <Toasts />
      {shown?.kind === 'help' && <Help key={shown} onClose={close(shown)} />}
      {shown?.kind === 'palette' && <Palette key={shown} onClose={close(shown)} />}
      {signedOut.value && <SignIn />}
    </div>
  )
}

function togglePanel() {
  panelOpen.value = !panelOpen.value
}

/** On a small screen the list covers the chat; elsewhere it is next to it. */
function toggleThreads() {
  if (matchMedia('(max-width: 760px)').matches) threadsOpen.value = !threadsOpen.value
  else threadsDocked.value = threadsDocked.value === 'shown' ? 'hidden' : 'shown'
}
