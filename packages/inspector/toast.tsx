import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { IconButton } from './icon-button.tsx'
import { useAction } from './keyboard.ts'
import './toast.css'
import type { Toast } from './toasts.ts'
import { endToast, runToastAction, toasts } from './toasts.ts'

/** By default, time to read the text. */
const readMs = (text: string) => Math.max(4000, 60 * text.length)

/**
 * All toasts. They are announced and do not take the focus. Their time stands still while the pointer
 * or the focus is on them (WCAG 2.2.1).
 */
export function Toasts() {
  const isPointed = useSignal(false)
  const isFocused = useSignal(false)
  const isHeld = isPointed.value || isFocused.value
  useAction({
    id: 'undo',
    label: 'Undo',
    keys: 'mod+z',
    whileTyping: true,
    // What the user has typed is undone first.
    isAvailable: () =>
      undoable() !== undefined && !(document.activeElement as HTMLInputElement | null)?.value,
    run: () => runToastAction(undoable()?.id ?? 0),
  })
  // The element with the focus or under the pointer may be gone.
  useEffect(() => {
    if (toasts.value.length === 0) isPointed.value = isFocused.value = false
  }, [toasts.value])
  return (
    <div
      class="toasts"
      role="status"
      // Not on enter: one may appear under a pointer that rests.
      onPointerMove={() => (isPointed.value = true)}
      onPointerLeave={() => (isPointed.value = false)}
      onFocusIn={() => (isFocused.value = true)}
      onFocusOut={() => (isFocused.value = false)}
    >
      {toasts.value.map((toast) => (
        <ToastView key={toast.id} toast={toast} isHeld={isHeld} />
      ))}
    </div>
  )
}

function undoable(): Toast | undefined {
  return toasts.value.findLast(({ action }) => action?.label === 'Undo')
}

function ToastView({ toast, isHeld }: { readonly toast: Toast; readonly isHeld: boolean }) {
  const { id, text, action, showMs = readMs(text) } = toast
  useEffect(() => {
    if (isHeld || showMs === Infinity) return
    const timer = setTimeout(() => endToast(id), showMs)
    return () => clearTimeout(timer)
  }, [id, isHeld])
  return (
    <div class="toast">
      <span>{text}</span>
      {action && (
        <button type="button" class="plain" onClick={() => runToastAction(id)}>
          {action.label}
        </button>
      )}
      <IconButton icon="close" label="Dismiss" onClick={() => endToast(id)} />
    </div>
  )
}
