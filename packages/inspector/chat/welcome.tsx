import type { Signal } from '@preact/signals'
import { openAgentView } from '../extra-view.tsx'
import { Icon } from '../icons.tsx'
import { useAgent, useAgents } from './agents.ts'
import { humanize } from './words.ts'

export interface WelcomeProps {
  /** Set if the user selects an agent. */
  readonly agent: Signal<string>
  /** Sends a message to start with. */
  readonly onStart: (message: string) => void
}

/** How many tools are named. */
const maxTools = 12

/** The page for a new thread: who answers, what it can do, and how to start. */
export function Welcome({ agent, onStart }: WelcomeProps) {
  const agents = useAgents()
  const shown = useAgent(undefined, agent.value)
  const { description, tools = [], starters = [], notices = [], isSimulated } = shown ?? {}
  return (
    <div class="chat-welcome">
      <div class="chat-welcome-head">
        {shown && <h2>{humanize(shown.name)}</h2>}
        {agents.length > 1 && (
          <label class="chat-quiet">
            Agent{' '}
            <select value={shown?.name} onChange={({ currentTarget }) => (agent.value = currentTarget.value)}>
              {agents.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {description && <p class="chat-welcome-about">{description}</p>}
      {isSimulated && (
        <p class="chat-badge">
          <Icon name="warning" /> A simulator answers. Token counts and costs are simulated.
        </p>
      )}
      {notices.map((notice) => (
        <p key={notice} class="chat-problem">
          {notice}
        </p>
      ))}
      {tools.length > 0 && (
        <ul class="chat-welcome-tools" aria-label="Tools">
          {tools.slice(0, maxTools).map((name) => (
            <li key={name}>{humanize(name)}</li>
          ))}
          {tools.length > maxTools && <li>and {tools.length - maxTools} more</li>}
        </ul>
      )}
      {shown && (
        <button type="button" class="chat-small" onClick={() => openAgentView(shown.name)}>
          Show agent
        </button>
      )}
      <h3>How can I help?</h3>
      {starters.length > 0 && (
        <ul class="chat-starters" aria-label="Start with">
          {starters.map((starter) => (
            <li key={starter}>
              <button type="button" onClick={() => onStart(starter)}>
                {starter}
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="chat-quiet">
        You can steer, queue, interrupt or stop a running answer. Close the tab any time; the run continues on
        the server. Enter to send, Shift+Enter for a new line, ? for shortcuts.
      </p>
    </div>
  )
}
