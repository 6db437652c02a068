import { useSignal } from '@preact/signals'
import { signedOut, signIn } from './api.ts'
import { Dialog } from './dialog.tsx'

/** For a server that asks who one is. */
export function SignIn() {
  const given = useSignal('')
  return (
    <Dialog title="Who are you?" onClose={() => (signedOut.value = false)}>
      <p>This server answers only those it knows. Give it your token; it is kept until this tab is closed.</p>
      <form
        class="sign-in"
        onSubmit={(event) => {
          event.preventDefault()
          if (given.value.trim()) signIn(given.value.trim())
        }}
      >
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            value={given.value}
            onInput={(event) => (given.value = event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
    </Dialog>
  )
}
