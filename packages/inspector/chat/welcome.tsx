import type { Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { api, signedOut } from '../api.ts'

/** The page on which a thread begins. `agent` is the one that it is to have, once there is a choice. */
export function Welcome({ agent }: { readonly agent: Signal<string> }) {
  const [agents, setAgents] = useState<Awaited<ReturnType<typeof api.agents>>>([])
  useEffect(() => {
    // If they cannot be read there is no choice: the server's first answers.
    api.agents().then(setAgents, () => {})
    // Once more for somebody who has signed in.
  }, [signedOut.value])
  return (
    <div class="chat-welcome">
      <h2>What is it about?</h2>
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
        <li>While a run goes on you may steer it, queue something, interrupt or stop it.</li>
        <li>You may close the page: it goes on, and waits for you.</li>
        <li>Enter sends, Shift+Enter begins a line, ? shows all keys.</li>
      </ul>
    </div>
  )
}
