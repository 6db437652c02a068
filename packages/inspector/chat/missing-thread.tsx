import { newThread } from '../api.ts'
import { Icon } from '../icons.tsx'

/** Shown instead of the chat if the URL names a thread that does not exist. */
export function MissingThread({ text }: { readonly text: string }) {
  return (
    <div class="chat-empty" role="status">
      <Icon name="search" />
      <h2>{text}</h2>
      <p>
        <NewThreadButton />
      </p>
    </div>
  )
}

export function NewThreadButton() {
  return (
    <button type="button" class="primary" onClick={newThread}>
      Start a new one
    </button>
  )
}
