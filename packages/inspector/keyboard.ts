import { computed, signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { readStorage, writeStorage } from './state.ts'

/** Something a user can do: in the command palette, and with a shortcut if it has one. */
export interface Action {
  /** Unique on the page. */
  readonly id: string
  /** For the command palette and the help dialog: "New thread". */
  readonly label: string
  /** `n`, `?`, `F2`, `mod+k`, where `mod` is Ctrl or, on a Mac, Command. */
  readonly keys?: string | undefined
  run(): void
  /** Whether it makes sense at the moment. Default: always. */
  isAvailable?(): boolean
  /** The shortcut also works while the user is typing. Ignored for single keys. */
  readonly whileTyping?: boolean
}

export interface Shortcut extends Pick<Action, 'label' | 'run' | 'whileTyping'> {
  readonly keys: string
}

export const actions = signal<readonly Action[]>([])

export const shortcuts = computed(() =>
  actions.value.filter((action): action is Action & Shortcut => action.keys !== undefined),
)

const singleKey = 'millrace.single-keys'

/** Users of speech input can turn single-key shortcuts off (WCAG 2.1.4). */
export const singleKeys = signal(readStorage(singleKey) !== 'off')

export function setSingleKeys(allowed: boolean): void {
  singleKeys.value = allowed
  writeStorage(singleKey, allowed ? undefined : 'off')
}

/**
 * Registers an action while the component is mounted. The latest `run` and `isAvailable` are called.
 */
export function useAction(action: Action): void {
  const { id, label, keys, whileTyping = false } = action
  const latest = useRef(action)
  latest.current = action
  useLayoutEffect(() => {
    const one: Action = {
      id,
      label,
      keys,
      whileTyping,
      run: () => latest.current.run(),
      isAvailable: () => latest.current.isAvailable?.() ?? true,
    }
    actions.value = [...actions.value, one]
    return () => {
      actions.value = actions.value.filter((other) => other !== one)
    }
  }, [id, label, keys, whileTyping])
}

export function useShortcut(shortcut: Shortcut): void {
  useAction({ id: `keys ${shortcut.keys}`, ...shortcut })
}

const keyNames: Readonly<Record<string, string>> = {
  mod: /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘' : 'Ctrl',
}

/** The names of the keys, as on the keyboard of the user. */
export function keyLabels(keys: string): readonly string[] {
  return keys.split('+').map((key) => keyNames[key] ?? key)
}

function keysOf(event: KeyboardEvent): string {
  const { key } = event
  const modified = event.ctrlKey || event.metaKey
  return `${modified ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${key.length === 1 ? key.toLowerCase() : key}`
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing) return
  // What is typed is for the dialog, also while it is being loaded.
  if (document.querySelector('dialog[open], .app > .lazy-wait')) return
  const keys = keysOf(event)
  const isSingle = keys.length === 1
  const writing = isTyping(event.target)
  const found = shortcuts.value.findLast(
    (one) =>
      one.keys === keys &&
      (!writing || (one.whileTyping && !isSingle)) &&
      (!isSingle || singleKeys.value) &&
      one.isAvailable?.() !== false,
  )
  if (!found) return
  event.preventDefault()
  found.run()
})
