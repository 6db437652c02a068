import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { keep, kept } from './state.ts'

export interface Shortcut {
  /** `n`, `?`, `Escape`, `mod+k`, where `mod` is Ctrl or, on a Mac, Command. */
  readonly keys: string
  /** For the list of all: "Begins a new thread". */
  readonly does: string
  run(): void
  /** Also while somebody writes. Single letters never are. */
  readonly whileWriting?: boolean
}

export const shortcuts = signal<readonly Shortcut[]>([])

const singleKey = 'millrace.single-keys'

/** Whoever speaks to the machine wants words not to be taken for keys, so these can be switched off (WCAG 2.1.4). */
export const singleKeys = signal(kept(singleKey) !== 'off')

export function allowSingleKeys(allowed: boolean): void {
  singleKeys.value = allowed
  keep(singleKey, allowed ? undefined : 'off')
}

/** Holds for as long as the component is there. What it does may change with each rendering. */
export function useShortcut({ keys, does, run, whileWriting = false }: Shortcut): void {
  const latest = useRef(run)
  latest.current = run
  useLayoutEffect(() => {
    const one: Shortcut = { keys, does, run: () => latest.current(), whileWriting }
    shortcuts.value = [...shortcuts.value, one]
    return () => {
      shortcuts.value = shortcuts.value.filter((other) => other !== one)
    }
  }, [keys, does, whileWriting])
}

function keysOf(event: KeyboardEvent): string {
  const { key } = event
  const modified = event.ctrlKey || event.metaKey
  return `${modified ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${key.length === 1 ? key.toLowerCase() : key}`
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null
}

addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return
  const keys = keysOf(event)
  const isSingle = keys.length === 1
  const writing = isWriting(event.target)
  const found = shortcuts.value.findLast(
    (one) =>
      one.keys === keys && (!writing || (one.whileWriting && !isSingle)) && (!isSingle || singleKeys.value),
  )
  if (!found) return
  event.preventDefault()
  found.run()
})
