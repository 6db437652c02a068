import type { Access, Ruling } from 'millrace'
import type { JudgedCall } from 'millrace/internal'
import type { Matcher } from './matcher.ts'
import type { Subject } from './subject.ts'
import { subjectOf, wholeCall } from './subject.ts'

/** A matcher and how the log is to name it: `deny run(rm *)`. */
export interface NamedRule extends Matcher {
  readonly said: string
  /** Of the only description of its tool that it allows. */
  readonly fingerprint: string | undefined
}

export interface RuleBook {
  readonly deny: readonly NamedRule[]
  readonly ask: readonly NamedRule[]
  readonly allow: readonly NamedRule[]
  readonly otherwise: Ruling['decision']
  readonly readOnly: boolean
  /** Commands in a sandbox need no rule. */
  readonly sandboxed: boolean
}

/** What is said of one access. */
export interface Verdict {
  readonly subject: Subject
  readonly decision: Ruling['decision']
  readonly rule: string
  /** No person's grant can change it. */
  readonly lasting?: boolean
}

/**
 * One verdict for each access; for a call without any, one for itself. Of what comes with a command only what is not to pass: the command's
 * own rule is the one that lets it.
 */
export function judgeAccesses(call: JudgedCall, book: RuleBook, granted: readonly NamedRule[]): Verdict[] {
  const { name, access, fingerprint } = call
  const subjects = access?.length
    ? subjectsOf(access)
    : [wholeCall({ unclear: access === undefined, fingerprint })]
  return subjects
    .map((subject) => ({ subject, ...judgeSubject(name, subject, book, granted) }))
    .filter(({ subject, decision }) => !subject.implied || decision !== 'allow')
}

/** Where there is no command to come with, each has to be allowed itself. */
function subjectsOf(access: readonly Access[]): Subject[] {
  const subjects = access.map(subjectOf)
  return subjects.some(({ access: own }) => own?.kind === 'run')
    ? subjects
    : subjects.map((subject) => ({ ...subject, implied: false }))
}

/** `isNamed`: a rule with a pattern allows it, and names what it is. */
type Judgement = Omit<Verdict, 'subject'> & { readonly isNamed?: boolean; readonly namesGuarded?: boolean }

function judgeSubject(
  tool: string,
  subject: Subject,
  book: RuleBook,
  granted: readonly NamedRule[],
): Judgement {
  // Of what cannot be told from its words, one that names it says more.
  const speaking = (rules: readonly NamedRule[]) =>
    (subject.guarded !== undefined &&
      rules.find((rule) => namesGuarded(rule, subject) && rule.matches(tool, subject))) ||
    (subject.unclear && rules.find((rule) => rule.hasPattern && rule.matches(tool, subject))) ||
    rules.find((rule) => rule.matches(tool, subject))
  const denied = speaking(book.deny)
  if (denied) return { decision: 'deny', rule: denied.said, lasting: true }
  if (book.readOnly && mayChange(tool, subject, book))
    return { decision: 'deny', rule: 'read-only', lasting: true }

  const judgement = judgeFreely(subject, book, {
    granted: speaking(granted),
    asked: speaking(book.ask),
    allowed: speaking(book.allow),
  })
  if (judgement.decision === 'allow' && subject.guarded !== undefined && !judgement.namesGuarded)
    return { decision: book.otherwise === 'deny' ? 'deny' : 'ask', rule: `protected ${subject.guarded}` }
  // It may turn out to be what a rule speaks against, so that a person has to look at it.
  const feared = [...book.deny, ...book.ask].find(
    (rule) =>
      rule.mayMatch(tool, subject) &&
      !(judgement.rule === sandboxed && rule.kind !== 'read' && rule.kind !== 'write'),
  )
  if (!feared || judgement.decision === 'deny' || judgement.isNamed) return judgement
  const rule = judgement.decision === 'ask' ? judgement.rule : `ask: may be ${feared.text}`
  return { decision: 'ask', rule, ...(subject.exact.length === 0 && { lasting: true }) }
}

const sandboxed = 'sandboxed'

function judgeFreely(
  { access, unclear, implied, guarded }: Subject,
  { otherwise, readOnly, sandboxed: allowsContained }: RuleBook,
  { granted, asked, allowed }: { [rule in 'granted' | 'asked' | 'allowed']: NamedRule | undefined },
): Judgement {
  const allowedBy = ({ said, hasPattern, text }: NamedRule): Judgement => ({
    decision: 'allow',
    rule: said,
    isNamed: hasPattern,
    namesGuarded: namesGuarded({ hasPattern, text }, { guarded }),
  })
  if (granted) return allowedBy(granted)
  if (asked) return { decision: 'ask', rule: asked.said }
  if (allowed) return allowedBy(allowed)
  if (implied) return { decision: 'allow', rule: 'comes with its command' }
  if (!access && !unclear) return { decision: 'allow', rule: 'touches nothing' }
  if (allowsContained && isContained(access)) return { decision: 'allow', rule: sandboxed }
  // What gets here in this mode changes nothing; but what is sent to a host is out of hand.
  if (readOnly && access && access.kind !== 'fetch') return { decision: 'allow', rule: 'read-only' }
  return { decision: otherwise, rule: `otherwise ${otherwise}` }
}

/** `write(**)` is not meant for what other programs run. */
function namesGuarded(
  { hasPattern, text }: Pick<NamedRule, 'hasPattern' | 'text'>,
  { guarded }: Pick<Subject, 'guarded'>,
): boolean {
  return guarded !== undefined && hasPattern && text.toLowerCase().includes(guarded)
}

function isContained(access: Access | undefined): boolean {
  return access !== undefined && access.kind !== 'fetch' && access.contained === true
}

function mayChange(tool: string, subject: Subject, { allow }: RuleBook): boolean {
  const { access, unclear } = subject
  if (!access) return unclear && !allow.some((rule) => rule.names(tool) && rule.matches(tool, subject))
  // In the sandbox the workspace is read-only then.
  if (access.kind === 'run') return !access.contained && (unclear || access.readOnly !== true)
  return access.kind === 'write'
}
