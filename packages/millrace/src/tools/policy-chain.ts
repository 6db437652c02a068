import { mapMaybeAsync } from './map-maybe-async.ts'
import type { Access, Policy, PolicyDecision, PolicyRequest } from './policy.ts'

/**
 * Decides on the calls of one run by the rules of its agent and of all parent agents. The strictest
 * decision wins.
 */
export interface PolicyChain {
  decide(call: PolicyRequest): PolicyDecision | Promise<PolicyDecision>
  /** Whether one of these agents is read-only. A user may change that while it runs. */
  isReadOnly(): boolean
  /** Whether rules can be remembered permanently. */
  readonly canRemember: boolean
  /** Resolves when the rules are saved. */
  remember(rules: readonly string[]): Promise<void>
}

const severity = { allow: 0, ask: 1, deny: 2 } as const

/**
 * Undefined if neither the agent nor its parents have rules. `granted` returns the rules that
 * people have allowed so far; `parent` is the chain of the parent run.
 */
export function policyChain({
  policy,
  granted,
  parent,
}: {
  readonly policy: Policy | undefined
  readonly granted: () => readonly string[]
  readonly parent: PolicyChain | undefined
}): PolicyChain | undefined {
  if (!policy) return parent
  return {
    isReadOnly: () => policy.readOnly === true || parent?.isReadOnly() === true,
    canRemember: policy.memory !== undefined || parent?.canRemember === true,
    decide(call) {
      const own = policy.decide(call, granted())
      if (!parent) return own
      return mapMaybeAsync(own, (own) =>
        mapMaybeAsync(parent.decide(call), (inherited) => stricter(own, inherited)),
      )
    },
    async remember(rules) {
      await policy.memory?.add(rules)
      await parent?.remember(rules)
    },
  }
}

function stricter(one: PolicyDecision, other: PolicyDecision): PolicyDecision {
  if (one.decision === 'ask' && other.decision === 'ask') {
    const { rules: more } = other
    const { rules, ...rest } = one
    return rules && more ? { ...rest, rules: [...new Set([...rules, ...more])] } : rest
  }
  return severity[other.decision] > severity[one.decision] ? other : one
}

/**
 * Whether an allowed access includes another one: it is the same, or a path inside an allowed
 * folder.
 */
export function covers(allowed: Access, access: Access): boolean {
  if (allowed.kind === 'run' || access.kind === 'run' || allowed.kind !== access.kind)
    return JSON.stringify(allowed) === JSON.stringify(access)
  if (allowed.kind === 'fetch' || access.kind === 'fetch')
    return (allowed as { host?: string }).host === (access as { host?: string }).host
  if (allowed.opaque || access.opaque) return false
  return (
    allowed.path === access.path ||
    (allowed.path === '.' && !access.path.startsWith('/')) ||
    access.path.startsWith(`${allowed.path}/`)
  )
}
