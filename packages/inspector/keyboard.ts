import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { readStorage, writeStorage } from './state.ts'

export interface Shortcut {
  /** `n`, `?`, `Escape`, `mod+k`, where `mod` is Ctrl or, on a Mac, Command. */
  readonly keys: string
  /** For the help dialog: "New thread". */
  readonly label: string
  run(): void
  /** Also works while the user is typing. Ignored for single keys. */
  readonly whileTyping?: boolean
}

export const shortcuts = signal<readonly Shortcut[]>([])

const singleKey = 'millrace.single-keys'

/** Users of speech input can turn single-key shortcuts off (WCAG 2.1.4). */
export const singleKeys = signal(readStorage(singleKey) !== 'off')

export function setSingleKeys(allowed: boolean): void {
  singleKeys.value = allowed
  writeStorage(singleKey, allowed ? undefined : 'off')
}

/** Registers a shortcut while the component is mounted. The latest `run` is called. */
export function useShortcut({ keys, label, run, whileTyping = false }: Shortcut): void {
  const latest = useRef(run)
  latest.current = run
  useLayoutEffect(() => {
    const one: Shortcut = { keys, label, run: () => latest.current(), whileTyping }
    shortcuts.value = [...shortcuts.value, one]
    return () => {
      shortcuts.value = shortcuts.value.filter((other) => other !== one)
    }
  }, [keys, label, whileTyping])
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
  if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return
  const keys = keysOf(event)
  const isSingle = keys.length === 1
  const writing = isTyping(event.target)
  const found = shortcuts.value.findLast(
    (one) =>
      one.keys === keys && (!writing || (one.whileTyping && !isSingle)) && (!isSingle || singleKeys.value),
  )
  if (!found) return
  event.preventDefault()
  found.run()
})
