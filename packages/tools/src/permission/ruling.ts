import type { Ruling } from 'millrace'
import type { JudgedCall } from 'millrace/internal'
import { spellUnseen } from 'millrace/internal'
import { exactRule } from './exact-rule.ts'
import type { Verdict } from './judge.ts'
import { whyProtected } from './protected.ts'

const strictness = { allow: 0, ask: 1, deny: 2 }

/** What is said of a call: the strictest that is said of any of its accesses. */
export function rulingOf({ name }: JudgedCall, verdicts: readonly Verdict[]): Ruling {
  const decision = verdicts
    .map((verdict) => verdict.decision)
    .reduce((one, other) => (strictness[other] > strictness[one] ? other : one))
  const deciding = verdicts.filter((verdict) => verdict.decision === decision)
  const rule = several(unique(deciding.map((verdict) => verdict.rule)))
  switch (decision) {
    case 'allow':
      return { decision, rule, reason: `it may ${several(deciding.map((verdict) => deed(name, verdict)))}` }
    case 'deny':
      return { decision, rule, reason: refusal(name, deciding) }
    case 'ask': {
      const rules = deciding.map(({ subject, lasting }) => (lasting ? undefined : exactRule(name, subject)))
      return {
        decision,
        rule,
        // Nobody should agree to what they do not see.
        reason: `it would ${several(
          deciding.map((verdict) => deed(name, verdict)),
          20,
        )}`,
        ...(rules.every((text) => text !== undefined) && { rules: unique(rules) }),
      }
    }
  }
}

/** The model reads this: it should neither look for a way round nor give up. */
function refusal(tool: string, denied: readonly Verdict[]): string {
  const deeds = denied.map(({ subject }) => {
    const { access } = subject
    if (!access) return `using ${tool}`
    if (access.kind === 'fetch') return `fetching from ${quoted(access.host)}`
    if (access.kind === 'run') return `running ${quoted(access.command)}`
    return `${access.kind === 'read' ? 'reading' : 'writing'} ${quoted(access.path)}`
  })
  const whys = unique(denied.map(why))
  return `${several(deeds)} ${deeds.length > 1 ? 'are' : 'is'} not allowed here (${several(whys)}). Do not try to get around this: use what is allowed, or tell the user what you need and why`
}

function why({ rule, subject }: Verdict): string {
  if (rule === 'read-only')
    return subject.access
      ? 'read-only: nothing may be changed'
      : 'read-only, and it does not say what it touches'
  if (rule.startsWith('protected '))
    return `${rule.slice('protected '.length)} is protected, and no rule names it`
  return rule.startsWith('deny ') ? `rule: ${rule.slice('deny '.length)}` : 'no rule allows it'
}

function deed(tool: string, { subject: { access, unclear, guarded } }: Verdict): string {
  if (!access) return unclear ? `use ${tool}` : `use ${tool}, which touches nothing`
  const why = (access.kind === 'run' && access.why) || 'what that comes to is known only when it runs'
  const protection = guarded !== undefined && whyProtected(guarded)
  const unknown = unclear ? ` (${why})` : protection ? ` (${guarded}: ${protection})` : ''
  switch (access.kind) {
    case 'run':
      // A person can only judge an opaque line that is shown whole.
      return `run ${quoted(access.command, unclear ? mostShown : undefined)}${unknown}`
    case 'fetch':
      return `fetch from ${quoted(access.host)}`
    default:
      return `${access.kind} ${quoted(access.path)}${unknown}`
  }
}

const mostShown = 10_000

/** On one line, without characters that could make it look like something else. */
function quoted(text: string, most = 300): string {
  const short = text.length > most ? `${text.slice(0, most - 100)} … ${text.slice(-80)}` : text
  return `\`${spellUnseen(short)}\``
}

/** `a, b and c`; of more than a few only the first, and how many more. */
function several(items: readonly string[], most = 3): string {
  if (items.length < 2) return items.join()
  const shown = items.length > most ? [...items.slice(0, most), `${items.length - most} more`] : items
  return `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
