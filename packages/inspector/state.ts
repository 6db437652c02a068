import { computed, effect, signal } from '@preact/signals'
import type { CallView, RoundView, RunView } from 'millrace/view'
import type { Session } from './session.ts'
import { showToast } from './toasts.ts'

/** What the inspector panel shows. */
export type Selection =
  | { readonly kind: 'run'; readonly run: RunView }
  | { readonly kind: 'round'; readonly round: RoundView }
  | { readonly kind: 'call'; readonly call: CallView }

export type Panel = 'timeline' | 'detail' | 'events' | 'extra'
export type Theme = 'system' | 'light' | 'dark'

/** The thread that is open; undefined on the page for a new thread. */
export const session = signal<Session | undefined>(undefined)
export const panel = signal<Panel>('timeline')
/** Whether the panel is open. It is next to the chat; on a phone it replaces the chat. */
export const panelOpen = signal(false)
/** Whether the thread list is open on small screens, where it covers the chat. */
export const threadsOpen = signal(false)
/** Whether the thread list is shown where there is room for it. */
export const threadsDocked = stored<'shown' | 'hidden'>('millrace.threads', 'shown')
/** Shows the thread list, wherever it is on this screen. */
export function showList(): void {
  threadsOpen.value = true
  threadsDocked.value = 'shown'
}
/** The width of the panel next to the chat, in pixels; empty for the default. */
export const panelWidth = stored<string>('millrace.panel', '')
export const selection = signal<Selection | undefined>(undefined)
/** The number of the entry to scroll to in the raw events. */
export const shownEntry = signal<number | undefined>(undefined)
/** Where the chat is to be opened: the message or answer that a search found. */
export const foundMessage = signal<{ readonly thread: string; readonly seq: number } | undefined>(undefined)

export const selectedRun = computed<RunView | undefined>(() => {
  const selected = selection.value
  if (selected?.kind === 'run') return selected.run
  if (selected?.kind === 'round') return selected.round.run
  return selected?.call.round.run
})

/** Opens the panel for a run, round or call. */
export function inspect(chosen: Selection, where: Panel = 'detail'): void {
  selection.value = chosen
  panel.value = where
  panelOpen.value = true
}

export function showEntry(seq: number): void {
  shownEntry.value = seq
  panel.value = 'events'
  panelOpen.value = true
}

/** A short notice, such as "Copied.", also for screen readers. It disappears automatically. */
export function showNotice(text: string): void {
  showToast({ text })
}

export const theme = stored<Theme>('millrace.theme', 'system')

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})

/** A signal whose value is kept in the browser. */
function stored<Value extends string>(key: string, initial: Value) {
  const value = signal((readStorage(key) as Value | undefined) ?? initial)
  effect(() => writeStorage(key, value.value))
  return value
}

type StorageName = 'localStorage' | 'sessionStorage'

/** Reads a value from browser storage; undefined if storage is blocked. */
export function readStorage(key: string, place: StorageName = 'localStorage'): string | undefined {
  try {
    return globalThis[place].getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

export function writeStorage(
  key: string,
  value: string | undefined,
  place: StorageName = 'localStorage',
): void {
  try {
    if (value === undefined) globalThis[place].removeItem(key)
    else globalThis[place].setItem(key, value)
  } catch {
    // Storage is full or blocked. The value lasts until the page is closed.
  }
}
