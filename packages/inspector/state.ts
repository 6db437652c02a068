import { computed, effect, signal } from '@preact/signals'
import type { CallView, RoundView, RunView } from 'millrace/view'
import type { Session } from './session.ts'

/** What the panel beside the chat is about. */
export type Selection =
  | { readonly kind: 'run'; readonly run: RunView }
  | { readonly kind: 'round'; readonly round: RoundView }
  | { readonly kind: 'call'; readonly call: CallView }

export type Panel = 'timeline' | 'detail' | 'events'
export type Theme = 'system' | 'light' | 'dark'

/** The thread that is open; undefined on the page of a new one. */
export const session = signal<Session | undefined>(undefined)
export const panel = signal<Panel>('timeline')
/** Whether the panel is open beside the chat; on a phone it takes the chat's place. */
export const panelOpen = signal(false)
/** Whether the list of threads is open where it lies over the chat. */
export const threadsOpen = signal(false)
export const selection = signal<Selection | undefined>(undefined)
/** The number of the entry that the raw events are to show. */
export const shownEntry = signal<number | undefined>(undefined)

export const selectedRun = computed<RunView | undefined>(() => {
  const chosen = selection.value
  if (chosen?.kind === 'run') return chosen.run
  if (chosen?.kind === 'round') return chosen.round.run
  return chosen?.call.round.run
})

/** Opens the panel on something that was clicked. */
export function show(chosen: Selection, where: Panel = 'detail'): void {
  selection.value = chosen
  panel.value = where
  panelOpen.value = true
}

export function showEntry(seq: number): void {
  shownEntry.value = seq
  panel.value = 'events'
  panelOpen.value = true
}

/** A short sentence for everybody, also for those who listen: "Copied", "Connection lost". It goes away by itself. */
export const notice = signal('')
let noticeTimer: ReturnType<typeof setTimeout> | undefined

export function say(text: string): void {
  notice.value = text
  clearTimeout(noticeTimer)
  noticeTimer = setTimeout(() => {
    notice.value = ''
  }, 4000)
}

const themeKey = 'millrace.theme'

export const theme = signal<Theme>((kept(themeKey) as Theme | undefined) ?? 'system')

effect(() => {
  keep(themeKey, theme.value)
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
})

type Place = 'localStorage' | 'sessionStorage'

/** What the browser keeps for this page, where it may keep anything. */
export function kept(key: string, place: Place = 'localStorage'): string | undefined {
  try {
    return globalThis[place].getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

export function keep(key: string, value: string | undefined, place: Place = 'localStorage'): void {
  try {
    if (value === undefined) globalThis[place].removeItem(key)
    else globalThis[place].setItem(key, value)
  } catch {
    // There is no room, or nothing may be kept. Then it lasts as long as the page does.
  }
}
