import type { Access, PolicyDecision } from 'millrace'
import type { PolicyRequest } from 'millrace/internal'
import type { Matcher } from './matcher.ts'
import type { Subject } from './subject.ts'
import { subjectOf, wholeCall } from './subject.ts'

/** A matcher and the label it has in logs: `deny run(rm *)`. */
export interface NamedRule extends Matcher {
  readonly label: string
  /** Fingerprint of the only tool description that the rule allows. */
  readonly fingerprint: string | undefined
}

export interface PermissionRules {
  readonly deny: readonly NamedRule[]
  readonly ask: readonly NamedRule[]
  readonly allow: readonly NamedRule[]
  readonly otherwise: PolicyDecision['decision']
  readonly readOnly: boolean
  /** Commands in a sandbox are allowed without a rule. */
  readonly sandboxed: boolean
}

/** The decision about one access. */
export interface AccessDecision {
  readonly subject: Subject
  readonly decision: PolicyDecision['decision']
  readonly rule: string
  /** A person's approval cannot change it. */
  readonly isFinal?: boolean
}

/**
 * One decision per access, or a single one for a call without accesses. Implied accesses are left out
 * if they are allowed: the rule of their command decides.
 */
export function decideAccesses(
  call: PolicyRequest,
  rules: PermissionRules,
  granted: readonly NamedRule[],
): AccessDecision[] {
  const { name, access, fingerprint } = call
  const subjects = access?.length
    ? subjectsOf(access)
    : [wholeCall({ unclear: access === undefined, fingerprint })]
  return subjects
    .map((subject) => ({ subject, ...decideSubject(name, subject, rules, granted) }))
    .filter(({ subject, decision }) => !subject.implied || decision !== 'allow')
}

/** Without a command, implied accesses need a rule of their own. */
function subjectsOf(access: readonly Access[]): Subject[] {
  const subjects = access.map(subjectOf)
  return subjects.some(({ access: own }) => own?.kind === 'run')
    ? subjects
    : subjects.map((subject) => ({ ...subject, implied: false }))
}

/** `isNamed`: allowed by a rule with a pattern. */
type SubjectDecision = Omit<AccessDecision, 'subject'> & {
  readonly isNamed?: boolean
  readonly namesProtected?: boolean
}

function decideSubject(
  tool: string,
  subject: Subject,
  rules: PermissionRules,
  granted: readonly NamedRule[],
): SubjectDecision {
  // For an unclear subject, a rule with a pattern says more than one without.
  const matching = (candidates: readonly NamedRule[]) =>
    (subject.protectedName !== undefined &&
      candidates.find((rule) => namesProtected(rule, subject) && rule.matches(tool, subject))) ||
    (subject.unclear && candidates.find((rule) => rule.hasPattern && rule.matches(tool, subject))) ||
    candidates.find((rule) => rule.matches(tool, subject))
  const denied = matching(rules.deny)
  if (denied) return { decision: 'deny', rule: denied.label, isFinal: true }
  if (rules.readOnly && mayChange(tool, subject, rules))
    return { decision: 'deny', rule: 'read-only', isFinal: true }

  const outcome = decideByRules(subject, rules, {
    granted: matching(granted),
    asked: matching(rules.ask),
    allowed: matching(rules.allow),
  })
  if (outcome.decision === 'allow' && subject.protectedName !== undefined && !outcome.namesProtected)
    return {
      decision: rules.otherwise === 'deny' ? 'deny' : 'ask',
      rule: `protected ${subject.protectedName}`,
    }
  // It may turn out to be what a deny or ask rule names, so a person has to look at it.
  const possible = [...rules.deny, ...rules.ask].find(
    (rule) =>
      rule.mayMatch(tool, subject) &&
      !(outcome.rule === sandboxed && rule.kind !== 'read' && rule.kind !== 'write'),
  )
  if (!possible || outcome.decision === 'deny' || outcome.isNamed) return outcome
  const rule = outcome.decision === 'ask' ? outcome.rule : `ask: may be ${possible.text}`
  return { decision: 'ask', rule, ...(subject.exact.length === 0 && { isFinal: true }) }
}

const sandboxed = 'sandboxed'

function decideByRules(
  { access, unclear, implied, protectedName }: Subject,
  { otherwise, readOnly, sandboxed: allowsSandboxed }: PermissionRules,
  { granted, asked, allowed }: { [rule in 'granted' | 'asked' | 'allowed']: NamedRule | undefined },
): SubjectDecision {
  const allowedBy = ({ label, hasPattern, text }: NamedRule): SubjectDecision => ({
    decision: 'allow',
    rule: label,
    isNamed: hasPattern,
    namesProtected: namesProtected({ hasPattern, text }, { protectedName }),
  })
  if (granted) return allowedBy(granted)
  if (asked) return { decision: 'ask', rule: asked.label }
  if (allowed) return allowedBy(allowed)
  if (implied) return { decision: 'allow', rule: 'comes with its command' }
  if (!access && !unclear) return { decision: 'allow', rule: 'touches nothing' }
  if (allowsSandboxed && isContained(access)) return { decision: 'allow', rule: sandboxed }
  // In read-only mode nothing here changes anything, but a fetch sends data out.
  if (readOnly && access && access.kind !== 'fetch') return { decision: 'allow', rule: 'read-only' }
  return { decision: otherwise, rule: `otherwise ${otherwise}` }
}

/** A broad rule such as `write(**)` does not cover protected names: the rule has to name them. */
function namesProtected(
  { hasPattern, text }: Pick<NamedRule, 'hasPattern' | 'text'>,
  { protectedName }: Pick<Subject, 'protectedName'>,
): boolean {
  return protectedName !== undefined && hasPattern && text.toLowerCase().includes(protectedName)
}

function isContained(access: Access | undefined): boolean {
  return access !== undefined && access.kind !== 'fetch' && access.contained === true
}

function mayChange(tool: string, subject: Subject, { allow }: PermissionRules): boolean {
  const { access, unclear } = subject
  if (!access) return unclear && !allow.some((rule) => rule.names(tool) && rule.matches(tool, subject))
  // In this mode the sandbox mounts the workspace read-only.
  if (access.kind === 'run') return !access.contained && (unclear || access.readOnly !== true)
  return access.kind === 'write'
}
