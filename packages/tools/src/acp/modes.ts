import type { PolicyDecision } from 'millrace'
import type { PolicyChain } from 'millrace/internal'
import { permission } from '../permission/permission.ts'

export type Mode = 'default' | 'accept-edits' | 'read-only'

export const modes: readonly { readonly id: Mode; readonly name: string; readonly description: string }[] = [
  { id: 'default', name: 'Ask', description: "Asks where the agent's rules say so" },
  { id: 'accept-edits', name: 'Accept edits', description: 'Changes files of the workspace without asking' },
  { id: 'read-only', name: 'Read only', description: 'Changes nothing, whatever was allowed before' },
]

export function isMode(value: unknown): value is Mode {
  return modes.some(({ id }) => id === value)
}

// What it allows is still subject to the agent's own rules.
const readOnly = permission({ mode: 'read-only', otherwise: 'allow' })
const allowed: PolicyDecision = { decision: 'allow', rule: 'mode of the session', reason: '' }

/** The rules of a session's mode, which may change while it runs. */
export function policiesOf(mode: () => Mode): PolicyChain {
  return {
    isReadOnly: () => mode() === 'read-only',
    canRemember: false,
    decide: (call) => (mode() === 'read-only' ? readOnly.decide(call, []) : allowed),
    remember: async () => {},
  }
}
