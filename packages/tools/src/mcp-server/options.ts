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
  /** Descriptions by agent name, by which the client's model chooses. */
  readonly describe?: Readonly<Record<string, string>> | undefined
  /** The name of the server. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** Maximum number of sessions, for clients of protocol 2025-11-25 and before; 1000 by default. */
  readonly maxSessions?: number | undefined
  /** Idle sessions are closed after this time; 30 minutes by default. */
  readonly sessionIdleMs?: number | undefined
  /**
   * A call that takes longer becomes a task, if the client supports that (2026-07-28); 5 seconds by
   * default, `Infinity` for never. Clients of 2025-11-25 say themselves which calls are tasks.
   */
  readonly taskAfterMs?: number | undefined
}

export interface McpSettings {
  readonly describe: Readonly<Record<string, string>>
  readonly name: string
  readonly version: string
  readonly maxSessions: number
  readonly sessionIdleMs: number
  readonly taskAfterMs: number
}

export const mcpTable: OptionTable<ServeMcpOptions> = {
  describe: anObject,
  name: someText,
  version: someText,
  maxSessions: wholeNumber(1),
  sessionIdleMs: duration,
  taskAfterMs: duration,
}

/** Fills in defaults. Throws `invalid_input` for the description of an unknown agent. */
export function readMcpOptions(
  {
    describe = {},
    name = 'millrace',
    version = '1',
    maxSessions = 1000,
    sessionIdleMs = 1_800_000,
    taskAfterMs = 5_000,
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
      `describe names '${agent}', which is not an agent of this app${like ? `: did you mean '${like}'?` : `: the agents are ${agents.join(', ')}`}`,
    )
  }
  return { describe, name, version, maxSessions, sessionIdleMs, taskAfterMs }
}
