import type { TargetedSubmitEvent } from 'preact'
import { useState } from 'preact/hooks'
import { signIn, token } from './api.ts'
import { Dialog } from './dialog.tsx'

/** Asks for the access token if the server requires one. Escape does not help: it opens again. */
export function SignIn() {
  const [attempt, setAttempt] = useState(0)
  return (
    <Dialog key={attempt} title="Sign in" onClose={() => setAttempt(attempt + 1)}>
      <p>This server requires an access token. It is kept until you close this tab.</p>
      {token.value && <p role="alert">The server rejected this token.</p>}
      <form class="sign-in" onSubmit={submit}>
        <label>
          Access token
          <input type="password" name="token" autocomplete="off" />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </Dialog>
  )
}

function submit(event: TargetedSubmitEvent<HTMLFormElement>) {
  event.preventDefault()
  const entered = String(new FormData(event.currentTarget).get('token')).trim()
  if (entered) signIn(entered)
}
