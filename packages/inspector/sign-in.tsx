import type { TargetedSubmitEvent } from 'preact'
import { signIn, token } from './api.ts'
import { Dialog } from './dialog.tsx'

/** For a server that asks who one is. */
export function SignIn() {
  return (
    <Dialog title="Who are you?" onClose={() => {}}>
      <p>This server answers only those it knows. Give it your token; it is kept until this tab is closed.</p>
      {token.value && <p role="alert">The token you gave is not known here.</p>}
      <form class="sign-in" onSubmit={submit}>
        <label>
          Token
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
  const given = String(new FormData(event.currentTarget).get('token')).trim()
  if (given) signIn(given)
}
