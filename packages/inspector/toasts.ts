import { signal } from '@preact/signals'

export interface ToastOptions {
  readonly text: string
  readonly action?: { readonly label: string; run(): void }
  /** How long it is shown, in milliseconds. Default: 4000, and more for a long text; `Infinity`: until it is ended. */
  readonly showMs?: number
  /** Called when it disappears for another reason than its action. */
  onEnd?(): void
}

export interface Toast extends ToastOptions {
  readonly id: number
}

const maxShown = 3

/** Short messages over the page, oldest first. */
export const toasts = signal<readonly Toast[]>([])
let lastId = 0

/** Shows a toast, in place of one with the same text. Returns a function that ends it. */
export function showToast(options: ToastOptions): () => void {
  const id = ++lastId
  for (const { id, text } of toasts.value) if (text === options.text) endToast(id)
  for (const { id } of toasts.value.slice(0, 1 - maxShown)) endToast(id)
  toasts.value = [...toasts.value, { ...options, id }]
  return () => endToast(id)
}

export function endToast(id: number): void {
  remove(id)?.onEnd?.()
}

export function runToastAction(id: number): void {
  remove(id)?.action?.run()
}

function remove(id: number): Toast | undefined {
  const toast = toasts.value.find((one) => one.id === id)
  if (toast) toasts.value = toasts.value.filter((one) => one !== toast)
  return toast
}
