import type { MillraceError } from 'millrace/client'
import { readExport } from 'millrace/client'
import type { TargetedDragEvent } from 'preact'
import { api, openThread } from '../api.ts'
import { showNotice } from '../state.ts'
import { showToast } from '../toasts.ts'

/** Asks for exported threads, JSON or HTML, and opens what was imported. */
export function importThread(): void {
  const input = document.createElement('input')
  input.type = 'file'
  input.accept = '.json,.html'
  input.multiple = true
  input.addEventListener('change', () => void importFiles(input.files))
  input.click()
}

/**
 * Lets the user drop exported threads anywhere on an element, which has `data-drop` meanwhile, except
 * on parts of it that take files themselves. Without this, the browser would leave the page for the file.
 */
export const importDrop = {
  onDragOver(event: TargetedDragEvent<HTMLElement>) {
    if (event.defaultPrevented) delete event.currentTarget.dataset.drop
    if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    event.dataTransfer.dropEffect = 'copy'
    event.currentTarget.dataset.drop = 'true'
  },
  onDragLeave({ currentTarget, relatedTarget }: TargetedDragEvent<HTMLElement>) {
    if (!currentTarget.contains(relatedTarget as Node | null)) delete currentTarget.dataset.drop
  },
  onDrop(event: TargetedDragEvent<HTMLElement>) {
    delete event.currentTarget.dataset.drop
    if (event.defaultPrevented || !event.dataTransfer?.files.length) return
    event.preventDefault()
    void importFiles(event.dataTransfer.files)
  },
}

async function importFiles(files: FileList | null | undefined): Promise<void> {
  for (const file of files ?? []) {
    const end = showToast({ text: `Importing ${file.name}…`, showMs: Infinity })
    try {
      const exported = readExport(await file.text())
      const { id } = await api.import(exported)
      openThread(id)
      showNotice(`Imported ${exported.thread.title ?? file.name}.`)
    } catch (error) {
      showNotice(`Can't import ${file.name}: ${(error as MillraceError).message}`)
    } finally {
      end()
    }
  }
}
