import { IconButton } from './icon-button.tsx'
import { showNotice } from './state.ts'

export interface CopyButtonProps {
  /** Called when the button is clicked. */
  readonly text: () => string
  /** What is copied: "Copy answer". */
  readonly label: string
}

export function CopyButton({ text, label }: CopyButtonProps) {
  return <IconButton icon="copy" label={label} onClick={() => void copy(text())} />
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    showNotice('Copied.')
  } catch {
    showNotice("Can't copy: the browser blocked access to the clipboard.")
  }
}
