import { andThen } from './and-then.ts'
import type { Access, JudgedCall, Policy, Ruling } from './policy.ts'

/** Judges the calls of one run: by the rules of its agent, and by those of every agent above it. The strictest counts. */
export interface Guard {
  judge(call: JudgedCall): Ruling | Promise<Ruling>
  /** Nothing may be changed, by the rules of one of these agents. */
  readonly readOnly: boolean
  /** Whether rules can be kept for good. */
  readonly keeps: boolean
  /** Resolves when they are. */
  keep(rules: readonly string[]): Promise<void>
}

const severity = { allow: 0, ask: 1, deny: 2 } as const

/**
 * Undefined if nobody has rules. `granted` are those that people have allowed so far; `above` is the guard of the run that has
 * started this one.
 */
export function guardOf({
  policy,
  granted,
  above,
}: {
  readonly policy: Policy | undefined
  readonly granted: () => readonly string[]
  readonly above: Guard | undefined
}): Guard | undefined {
  if (!policy) return above
  return {
    readOnly: policy.readOnly === true || above?.readOnly === true,
    keeps: policy.memory !== undefined || above?.keeps === true,
    judge(call) {
      const own = policy.judge(call, granted())
      if (!above) return own
      return andThen(own, (own) => andThen(above.judge(call), (theirs) => stricter(own, theirs)))
    },
    async keep(rules) {
      await policy.memory?.add(rules)
      await above?.keep(rules)
    },
  }
}

function stricter(one: Ruling, other: Ruling): Ruling {
  if (one.decision === 'ask' && other.decision === 'ask') {
    const { rules: more } = other
    const { rules, ...ruling } = one
    return rules && more ? { ...ruling, rules: [...new Set([...rules, ...more])] } : ruling
  }
  return severity[other.decision] > severity[one.decision] ? other : one
}

/** Whether what was allowed takes in this as well: it is the same, or lies in a folder that may be read or written as a whole. */
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
