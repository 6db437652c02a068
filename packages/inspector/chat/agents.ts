import { signal } from '@preact/signals'
import type { AgentInfo } from 'millrace/client'
import { useEffect } from 'preact/hooks'
import { api, signedOut } from '../api.ts'
import type { Session } from '../session.ts'

/** The agents of the server. If they cannot be loaded there are none, and its default agent answers. */
const agents = signal<readonly AgentInfo[]>([])

let isLoaded = false

/** Loads the agents when a part of the page first needs them, and again after signing in. */
export function useAgents(): readonly AgentInfo[] {
  const { value: isSignedOut } = signedOut
  useEffect(() => {
    if (isSignedOut) isLoaded = false
    if (isSignedOut || isLoaded) return
    isLoaded = true
    api.agents().then(
      (found) => (agents.value = found),
      () => (isLoaded = false),
    )
  }, [isSignedOut])
  return agents.value
}

/** The agent that answers in a thread, or in a new thread if this one is selected. */
export function useAgent(session: Session | undefined, selected = ''): AgentInfo | undefined {
  useAgents()
  return agentOf(session, selected)
}

/** The same, if the agents have been loaded. */
export function agentOf(session: Session | undefined, selected = ''): AgentInfo | undefined {
  const { value: all } = agents
  const name = session ? session.agent.value : selected
  return all.find((agent) => agent.name === name) ?? (session && all.length > 1 ? undefined : all[0])
}

/** The models that the user chose on this page, by thread. `''` is the next new thread. */
const chosen = signal<Readonly<Record<string, string>>>({})

/** The model that answers the next message of a thread: the chosen one, or the last one. */
export function modelOf(session: Session | undefined, { models }: AgentInfo): string | undefined {
  const own = chosen.value[session?.thread.id ?? '']
  const last = session?.log.runs.at(-1)?.rounds.at(-1)?.model
  return [own, last].find((model) => model !== undefined && models.includes(model)) ?? models[0]
}

/** What is sent with a message, so that this model answers. A request holds for one run. */
export function requestFor(session: Session | undefined, agent: AgentInfo | undefined) {
  const model = agent?.models && modelOf(session, agent)
  return model === agent?.models?.[0] ? undefined : { request: { model } }
}

export function chooseModel(thread: string | undefined, model: string): void {
  chosen.value = { ...chosen.value, [thread ?? '']: model }
}
