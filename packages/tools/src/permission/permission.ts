import type { PermissionMemory, Policy, PolicyDecision } from 'millrace'
import type { OptionTable, PolicyRequest, Problem } from 'millrace/internal'
import { checkOptions, invalidInput, isObject, kindOf, oneOf } from 'millrace/internal'
import type { NamedRule, PermissionRules } from './decide.ts'
import { decideAccesses } from './decide.ts'
import { decisionOf } from './decision.ts'
import { rulesForFile } from './exact-rule.ts'
import { matcherOf } from './matcher.ts'
import { readRule, ruleProblem } from './rule.ts'

export interface PermissionOptions {
  /**
   * Allowed without asking: `read`, `run(git diff *)`, `write(src/**)`, `fetch(*.example.com)`,
   * `lookup_order`.
   */
  readonly allow?: readonly string[] | undefined
  /** Needs a person's approval, even if an allow rule matches. */
  readonly ask?: readonly string[] | undefined
  /** Never allowed, whatever other rules or people say. */
  readonly deny?: readonly string[] | undefined
  /** What happens if no rule matches; `ask` by default. */
  readonly otherwise?: 'allow' | 'ask' | 'deny' | undefined
  /** `allow`: commands that run in a sandbox need no allow rule. Deny and ask rules still apply. */
  readonly sandboxed?: 'allow' | undefined
  /** `read-only`: deny everything that could change something, whatever rules or people say. */
  readonly mode?: 'read-only' | undefined
  /** Lets people approve "always". Shared by all users of the agent. */
  readonly memory?: PermissionMemory | undefined
}

const optionTable: OptionTable<PermissionOptions> = {
  allow: ruleListProblem,
  ask: ruleListProblem,
  deny: ruleListProblem,
  otherwise: oneOf('allow', 'ask', 'deny'),
  sandboxed: oneOf('allow'),
  mode: oneOf('read-only'),
  memory: (value) =>
    !(isObject(value) && typeof value.rules === 'function' && typeof value.add === 'function') &&
    'must be a memory, such as permissionFile(path)',
}

/**
 * Creates an agent's permission policy. Throws `invalid_input` that names the invalid rule and the
 * problem.
 */
export function permission(options: PermissionOptions = {}): Policy {
  const op = 'permission'
  if (!isObject(options as unknown))
    throw invalidInput(op, `permission() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, optionTable, { op, what: 'permission(): the option' })
  const { allow = [], ask = [], deny = [], otherwise = 'ask', sandboxed, mode, memory } = options
  const ruleSets: PermissionRules = {
    allow: ruleSet(allow, 'allow'),
    ask: ruleSet(ask, 'ask'),
    deny: ruleSet([...deny, ...(memory?.file ? rulesForFile(memory.file) : [])], 'deny'),
    otherwise,
    readOnly: mode === 'read-only',
    sandboxed: sandboxed === 'allow',
  }
  const inThread = grants('allowed in this thread')
  const always = grants('always allowed')

  const decide = (
    call: PolicyRequest,
    granted: readonly string[],
  ): PolicyDecision | Promise<PolicyDecision> => {
    const given = inThread(granted)
    const decisions = decideAccesses(call, ruleSets, given)
    const open = decisions.filter(({ decision }) => decision !== 'allow')
    // Read only where it can change the decision: most calls need no file access.
    if (!memory || open.length === 0 || open.some(({ isFinal }) => isFinal))
      return noteChangedTool(decisionOf(call, decisions), call, given)
    return readMemory(memory).then((rules) => {
      const all = [...given, ...always(rules)]
      return noteChangedTool(decisionOf(call, decideAccesses(call, ruleSets, all)), call, all)
    })
  }
  return { decide, ruleProblem, memory, rules: labelsOf(ruleSets), readOnly: ruleSets.readOnly }
}

/** The labels in the order in which `decideAccesses` tries the rules. */
function labelsOf({ deny, ask, allow, otherwise, readOnly, sandboxed }: PermissionRules): string[] {
  const labels = (rules: readonly NamedRule[]) => rules.map(({ label }) => label)
  return [
    ...labels(deny),
    ...(readOnly ? ['read-only'] : []),
    ...labels(ask),
    ...labels(allow),
    ...(sandboxed ? ['sandboxed'] : []),
    `otherwise ${otherwise}`,
  ]
}

/** Warns a person who allowed this tool before that its description has changed. */
function noteChangedTool(
  decided: PolicyDecision,
  { name, fingerprint }: PolicyRequest,
  granted: readonly NamedRule[],
): PolicyDecision {
  const before = granted.some(
    (rule) => rule.fingerprint && rule.fingerprint !== fingerprint && rule.names(name),
  )
  if (decided.decision !== 'ask' || !before) return decided
  const reason = decided.reason.replace(/\?$/, ', whose description has changed since it was allowed?')
  return { ...decided, reason }
}

/** Async, so that a synchronous throw becomes a rejection. */
async function readMemory(memory: PermissionMemory): Promise<readonly string[]> {
  return memory.rules()
}

function ruleListProblem(value: unknown): Problem {
  if (!Array.isArray(value)) return `must be an array of rules, not ${kindOf(value)}`
  const problem = value.map(ruleProblem).find((found) => found !== undefined)
  return problem !== undefined && `cannot be used: ${problem}`
}

function ruleSet(texts: readonly string[], decision: PolicyDecision['decision']): NamedRule[] {
  const rules = texts.flatMap((text) => namedRule(text, decision, { strict: decision !== 'allow' }) ?? [])
  // The rule that is reported must not depend on the order of the options: prefer the most
  // specific.
  return rules.sort((a, b) => b.text.length - a.text.length || (a.text < b.text ? -1 : 1))
}

function namedRule(
  text: string,
  prefix: string,
  { strict = false, granted = false }: { strict?: boolean; granted?: boolean },
): NamedRule | undefined {
  const { rule } = readRule(text)
  if (!rule) return undefined
  const { fingerprint } = rule
  const matcher = matcherOf(rule, { strict })
  return {
    ...matcher,
    label: `${prefix} ${text}`,
    fingerprint,
    // A person allows a tool as it was described at the time. The developer's own rules match by
    // name alone.
    matches: (tool, subject) =>
      matcher.matches(tool, subject) &&
      (strict || fingerprint === subject.fingerprint || (!fingerprint && !granted)),
  }
}

/** More rules are never granted at a time; beyond that the cache is cleared. */
const maxKnownRules = 1000

/**
 * Parses the rules that people have allowed, with a cache. Invalid rules from old logs are ignored.
 */
function grants(prefix: string): (texts: readonly string[]) => NamedRule[] {
  const known = new Map<string, NamedRule | undefined>()
  const read = (text: string) => {
    if (known.has(text)) return known.get(text)
    if (known.size >= maxKnownRules) known.clear()
    const rule = namedRule(text, `${prefix}:`, { granted: true })
    known.set(text, rule)
    return rule
  }
  return (texts) => texts.flatMap((text) => read(text) ?? [])
}
