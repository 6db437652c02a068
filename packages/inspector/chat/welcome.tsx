import type { Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { api, signedOut } from '../api.ts'

/** The page for a new thread. `agent` is set if the user selects one. */
export function Welcome({ agent }: { readonly agent: Signal<string> }) {
  const [agents, setAgents] = useState<Awaited<ReturnType<typeof api.agents>>>([])
  useEffect(() => {
    // If this fails there is no selection, and the server's default agent answers.
    api.agents().then(setAgents, () => {})
    // Again after signing in.
  }, [signedOut.value])
  return (
    <div class="chat-welcome">
      <h2>How can I help?</h2>
      {agents.length > 1 && (
        <label>
          Agent{' '}
          <select onChange={({ currentTarget }) => (agent.value = currentTarget.value)}>
            {agents.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {(agents.find(({ name }) => name === agent.value) ?? agents[0])?.notices?.map((notice) => (
        <p key={notice} class="chat-problem">
          {notice}
        </p>
      ))}
      <ul class="quiet">
        <li>You can steer, queue, interrupt or stop a running answer.</li>
        <li>Close the tab any time; the run continues on the server.</li>
        <li>Enter to send, Shift+Enter for a new line, ? for shortcuts.</li>
      </ul>
    </div>
  )
}
