import type { OptionTable } from 'millrace/internal'
import {
  anObject,
  checkOptions,
  closest,
  duration,
  invalidInput,
  someText,
  wholeNumber,
} from 'millrace/internal'

export interface ServeMcpOptions {
  /** What each agent is for, by its name: what the caller's model chooses by. */
  readonly describe?: Readonly<Record<string, string>> | undefined
  /** What the server calls itself. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** How many clients that speak a protocol with sessions (2025-11-25 and before) may be known at once. */
  readonly maxSessions?: number | undefined
  /** So long one of those may be silent before it is forgotten. */
  readonly sessionIdleMs?: number | undefined
}

export interface McpSettings {
  readonly describe: Readonly<Record<string, string>>
  readonly name: string
  readonly version: string
  readonly maxSessions: number
  readonly sessionIdleMs: number
}

export const mcpTable: OptionTable<ServeMcpOptions> = {
  describe: anObject,
  name: someText,
  version: someText,
  maxSessions: wholeNumber(1),
  sessionIdleMs: duration,
}

/** With everything filled in. Throws `invalid_input` for a description of nobody. */
export function readMcpOptions(
  {
    describe = {},
    name = 'millrace',
    version = '1',
    maxSessions = 1000,
    sessionIdleMs = 1_800_000,
  }: ServeMcpOptions,
  { agents, op }: { readonly agents: readonly string[]; readonly op: string },
): McpSettings {
  checkOptions(describe, Object.fromEntries(Object.keys(describe).map((agent) => [agent, someText])), {
    op,
    what: 'the option describe.',
  })
  for (const agent of Object.keys(describe)) {
    if (agents.includes(agent)) continue
    const like = closest(agent, agents)
    throw invalidInput(
      op,
      `describe speaks of '${agent}', which is no agent here${like ? `: did you mean '${like}'?` : `: there are ${agents.join(', ')}`}`,
    )
  }
  return { describe, name, version, maxSessions, sessionIdleMs }
}
