import type { PolicyDecision } from 'millrace'
import type { PolicyRequest } from 'millrace/internal'
import { escapeInvisible } from 'millrace/internal'
import type { AccessDecision } from './decide.ts'
import { exactRule } from './exact-rule.ts'
import { whyProtected } from './protected.ts'

const strictness = { allow: 0, ask: 1, deny: 2 }

/** Decides about a call: the strictest decision about any of its accesses. */
export function decisionOf({ name }: PolicyRequest, decisions: readonly AccessDecision[]): PolicyDecision {
  const decision = decisions
    .map((one) => one.decision)
    .reduce((one, other) => (strictness[other] > strictness[one] ? other : one))
  const deciding = decisions.filter((one) => one.decision === decision)
  const rule = joinList(unique(deciding.map((one) => one.rule)))
  switch (decision) {
    case 'allow':
      return { decision, rule, reason: `${gerunds(name, deciding)} allowed` }
    case 'deny':
      return { decision, rule, reason: denialReason(name, deciding) }
    case 'ask': {
      const rules = deciding.map(({ subject, isFinal }) => (isFinal ? undefined : exactRule(name, subject)))
      return {
        decision,
        rule,
        reason: question(name, deciding),
        ...(rules.every((text) => text !== undefined) && { rules: unique(rules) }),
      }
    }
  }
}

/** For the model: it should neither look for a way around the rule nor give up. */
function denialReason(tool: string, denied: readonly AccessDecision[]): string {
  const causes = unique(denied.map(denialCause))
  return `${gerunds(tool, denied)} not allowed here (${joinList(causes)}). Do not try to get around this: use what is allowed, or tell the user what you need and why`
}

/** ``running `ls` and reading `a` are`` */
function gerunds(tool: string, decisions: readonly AccessDecision[]): string {
  const actions = decisions.map(({ subject: { access } }) => {
    if (!access) return `using ${tool}`
    if (access.kind === 'fetch') return `fetching from ${quoted(access.host)}`
    if (access.kind === 'run') return `running ${quoted(access.command)}`
    return `${access.kind === 'read' ? 'reading' : 'writing'} ${quoted(access.path)}`
  })
  return `${joinList(actions)} ${actions.length > 1 ? 'are' : 'is'}`
}

function denialCause({ rule, subject }: AccessDecision): string {
  if (rule === 'read-only')
    return subject.access
      ? 'read-only: nothing may be changed'
      : 'read-only, and the tool does not declare what it accesses'
  if (rule.startsWith('protected '))
    return `${rule.slice('protected '.length)} is protected, and no rule names it`
  return rule.startsWith('deny ') ? `rule: ${rule.slice('deny '.length)}` : 'no rule allows it'
}

/**
 * For people: ``Run `ls` and `wc -l`?`` Shows more than other reasons, since people approve what
 * they read.
 */
function question(tool: string, decisions: readonly AccessDecision[]): string {
  const actions = decisions.map((one) => describeAccess(tool, one))
  const [first] = actions
  const isOneVerb = actions.every(({ verb }) => verb === first?.verb)
  const texts = actions.map(({ verb, object }, index) =>
    isOneVerb && index > 0 ? object : `${verb} ${object}`,
  )
  const text = joinList(texts, 20)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}?`
}

function describeAccess(
  tool: string,
  { subject: { access, unclear, protectedName } }: AccessDecision,
): { verb: string; object: string } {
  if (!access)
    return { verb: 'use', object: unclear ? tool : `${tool} (which accesses no files, commands or hosts)` }
  const why = (access.kind === 'run' && access.why) || 'what it does is known only when it runs'
  const protection = protectedName !== undefined && whyProtected(protectedName)
  const note = unclear ? ` (${why})` : protection ? ` (${protectedName}: ${protection})` : ''
  switch (access.kind) {
    case 'run':
      // A person can only decide about an opaque line that is shown whole.
      return { verb: 'run', object: `${quoted(access.command, unclear ? maxShown : undefined)}${note}` }
    case 'fetch':
      return { verb: 'fetch from', object: quoted(access.host) }
    default:
      return { verb: access.kind, object: `${quoted(access.path)}${note}` }
  }
}

const maxShown = 10_000

/**
 * On one line, without characters that could make it look like something else. As in Markdown, text
 * with backticks has longer runs of them around it.
 */
function quoted(text: string, most = 300): string {
  const short = escapeInvisible(
    text.length > most ? `${text.slice(0, most - 100)} … ${text.slice(-80)}` : text,
  )
  const longest = Math.max(0, ...Array.from(short.matchAll(/`+/g), ([run]) => run.length))
  const [fence, space] = ['`'.repeat(longest + 1), /^`|`$/.test(short) ? ' ' : '']
  return `${fence}${space}${short}${space}${fence}`
}

/** `a, b and c`; of a longer list the first `most` items and how many more there are. */
function joinList(items: readonly string[], most = 3): string {
  if (items.length < 2) return items.join()
  const shown = items.length > most ? [...items.slice(0, most), `${items.length - most} more`] : items
  return `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
