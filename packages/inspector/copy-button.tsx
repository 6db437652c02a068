import { IconButton } from './icon-button.tsx'
import { say } from './state.ts'

export interface CopyButtonProps {
  /** Made only when it is asked for. */
  readonly text: () => string
  /** What is copied: "Copy the answer". */
  readonly label: string
}

export function CopyButton({ text, label }: CopyButtonProps) {
  return <IconButton icon="copy" label={label} onClick={() => void copy(text())} />
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    say('Copied.')
  } catch {
    say('The browser does not let this page copy.')
  }
}
