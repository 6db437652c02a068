import { computed } from '@preact/signals'
import type { AgentInfo } from 'millrace/client'
import { useMemo } from 'preact/hooks'
import type { Session } from '../session.ts'
import { chooseModel, modelOf } from './agents.ts'

export interface ModelSelectProps {
  readonly agent: AgentInfo | undefined
  readonly session: Session | undefined
}

/** Chooses the model for the next messages, if the agent has several. */
export function ModelSelect({ agent, session }: ModelSelectProps) {
  // The log may be read after the agents, and other tabs choose models, too.
  const model = useMemo(
    () => computed(() => agent?.models && (session?.tick.value ?? 0) >= 0 && modelOf(session, agent)),
    [agent, session],
  )
  if (!agent?.models || agent.models.length < 2) return null
  return (
    <select
      class="chat-model"
      aria-label="Model"
      title="The model that answers"
      value={model.value || undefined}
      onChange={({ currentTarget }) => chooseModel(session?.thread.id, currentTarget.value)}
    >
      {agent.models.map((model) => (
        <option key={model}>{model}</option>
      ))}
    </select>
  )
}
