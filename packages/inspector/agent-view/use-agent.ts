import type { AgentDetails, MillraceError } from 'millrace/client'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.ts'
import type { Session } from '../session.ts'

export interface AgentState {
  /** The name under which the server has it. */
  readonly name: string
  /** Undefined while it is loading, or if it cannot be loaded. */
  readonly details?: AgentDetails
  /** Why it cannot be loaded. */
  readonly problem?: string
  /** The caller may not see it: trying again does not help. */
  readonly isForbidden?: boolean
  retry(): void
}

/** How an agent is set up: the one of a thread, or one with this name. */
export function useAgent(given: string, session?: Session): AgentState {
  const agent = session?.agent.value || given
  const [known, setKnown] = useState<Omit<AgentState, 'retry'>>({ name: agent })
  const [times, setTimes] = useState(0)
  useEffect(() => {
    let isWanted = true
    setKnown({ name: agent })
    detailsOf(agent).then(
      (details) => isWanted && setKnown({ name: agent || details.name, details }),
      (error) => isWanted && setKnown({ name: agent, ...problemOf(agent, error) }),
    )
    return () => {
      isWanted = false
    }
  }, [agent, times])
  return { ...known, retry: () => setTimes(times + 1) }
}

/** Without a name, of the default agent, which is the first one. */
async function detailsOf(name: string): Promise<AgentDetails> {
  return api.agent(name || ((await api.agents())[0]?.name ?? ''))
}

function problemOf(name: string, { code, message }: MillraceError) {
  if (code === 'auth')
    return {
      isForbidden: true,
      problem: `You need inspect access to see how ${name || 'the agent'} is set up, since this includes its instructions.`,
    }
  if (code === 'not_found') return { problem: `This server has no agent named ${name} any more.` }
  return { problem: `Can't load the agent: ${message}` }
}
