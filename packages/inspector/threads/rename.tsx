import { signal } from '@preact/signals'
import type { MillraceError } from 'millrace/client'
import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { api } from '../api.ts'
import { showNotice } from '../state.ts'
import { changeTitle } from './list.ts'

/** The thread that is being renamed, and where: in the list or in the bar. */
export const renaming = signal<{ readonly id: string; readonly place: 'list' | 'bar' } | undefined>(undefined)

export interface RenameInputProps {
  readonly id: string
  readonly title: string
  /** Called with whether the keyboard ended it, so that the focus can return. */
  onEnd(byKeyboard: boolean): void
}

/** Enter, or leaving it, renames the thread. Escape does not. */
export function RenameInput({ id, title, onEnd }: RenameInputProps) {
  const input = useRef<HTMLInputElement>(null)
  const isEnded = useRef(false)
  useLayoutEffect(() => {
    input.current?.focus()
    input.current?.select()
  }, [])

  function end(entered: string, byKeyboard: boolean) {
    // Removing the input takes the focus from it, which ends it again.
    if (isEnded.current) return
    isEnded.current = true
    const name = entered.trim()
    if (name && name !== title) void rename(id, title, name)
    renaming.value = undefined
    onEnd(byKeyboard)
  }
  function onKeyDown(event: TargetedKeyboardEvent<HTMLInputElement>) {
    if (event.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return
    event.preventDefault()
    event.stopPropagation()
    end(event.key === 'Enter' ? event.currentTarget.value : '', true)
  }
  return (
    <input
      ref={input}
      class="threads-rename"
      aria-label="Title"
      dir="auto"
      defaultValue={title}
      maxLength={120}
      onKeyDown={onKeyDown}
      onBlur={({ currentTarget }) => end(currentTarget.value, false)}
    />
  )
}

/** Shows the new title at once, and the old one again if the server refuses. */
async function rename(id: string, before: string, title: string): Promise<void> {
  changeTitle(id, title)
  try {
    await api.thread(id).rename(title)
  } catch (error) {
    changeTitle(id, before)
    showNotice(`Can't rename the thread: ${(error as MillraceError).message}`)
  }
}
