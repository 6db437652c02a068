import type { PermissionMemory, Policy, Ruling } from 'millrace'
import type { JudgedCall, OptionTable, Problem } from 'millrace/internal'
import { checkOptions, invalidInput, isObject, kindOf, oneOf } from 'millrace/internal'
import { rulesForFile } from './exact-rule.ts'
import type { NamedRule, RuleBook } from './judge.ts'
import { judgeAccesses } from './judge.ts'
import { matcherOf } from './matcher.ts'
import { readRule, ruleProblem } from './rule.ts'
import { rulingOf } from './ruling.ts'

export interface PermissionOptions {
  /** What may be done without asking: `read`, `run(git diff *)`, `write(src/**)`, `fetch(*.example.com)`, `lookup_order`. */
  readonly allow?: readonly string[] | undefined
  /** What a person is asked about, also where a rule allows it. */
  readonly ask?: readonly string[] | undefined
  /** What is never done, whatever else is said. */
  readonly deny?: readonly string[] | undefined
  /** For what no rule speaks of; `ask` if absent. */
  readonly otherwise?: 'allow' | 'ask' | 'deny' | undefined
  /** `allow`: a command that runs in a sandbox needs no rule. Rules that deny or ask still count. */
  readonly sandboxed?: 'allow' | undefined
  /** `read-only`: nothing that changes anything, whatever the rules and people say. */
  readonly mode?: 'read-only' | undefined
  /** Lets people say "always". It is shared by everybody who talks to the agent. */
  readonly memory?: PermissionMemory | undefined
}

const optionTable: OptionTable<PermissionOptions> = {
  allow: someRules,
  ask: someRules,
  deny: someRules,
  otherwise: oneOf('allow', 'ask', 'deny'),
  sandboxed: oneOf('allow'),
  mode: oneOf('read-only'),
  memory: (value) =>
    !(isObject(value) && typeof value.rules === 'function' && typeof value.add === 'function') &&
    'must be a memory, such as permissionFile(path)',
}

/** Makes an agent's rules. Throws `invalid_input` that names the rule and what is wrong with it. */
export function permission(options: PermissionOptions = {}): Policy {
  const op = 'permission'
  if (!isObject(options as unknown))
    throw invalidInput(op, `permission() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, optionTable, { op, what: 'permission(): the option' })
  const { allow = [], ask = [], deny = [], otherwise = 'ask', sandboxed, mode, memory } = options
  const book: RuleBook = {
    allow: ruleSet(allow, 'allow'),
    ask: ruleSet(ask, 'ask'),
    deny: ruleSet([...deny, ...(memory?.file ? rulesForFile(memory.file) : [])], 'deny'),
    otherwise,
    readOnly: mode === 'read-only',
    sandboxed: sandboxed === 'allow',
  }
  const inThread = grants('allowed in this thread')
  const forGood = grants('always allowed')

  const judge = (call: JudgedCall, granted: readonly string[]): Ruling | Promise<Ruling> => {
    const given = inThread(granted)
    const verdicts = judgeAccesses(call, book, given)
    const open = verdicts.filter(({ decision }) => decision !== 'allow')
    // The memory is asked only where it can change something, so that most calls cost no look at a file.
    if (!memory || open.length === 0 || open.some(({ lasting }) => lasting))
      return noteChange(rulingOf(call, verdicts), call, given)
    return remembered(memory).then((rules) => {
      const all = [...given, ...forGood(rules)]
      return noteChange(rulingOf(call, judgeAccesses(call, book, all)), call, all)
    })
  }
  return { judge, ruleProblem, memory, readOnly: book.readOnly }
}

/** Who has allowed a tool before should know that it is not the same now. */
function noteChange(
  ruling: Ruling,
  { name, fingerprint }: JudgedCall,
  granted: readonly NamedRule[],
): Ruling {
  const before = granted.some(
    (rule) => rule.fingerprint && rule.fingerprint !== fingerprint && rule.names(name),
  )
  if (ruling.decision !== 'ask' || !before) return ruling
  return { ...ruling, reason: `${ruling.reason}, whose description has changed since it was allowed` }
}

/** A memory may throw at once as well as reject. */
async function remembered(memory: PermissionMemory): Promise<readonly string[]> {
  return memory.rules()
}

function someRules(value: unknown): Problem {
  if (!Array.isArray(value)) return `must be an array of rules, not ${kindOf(value)}`
  const problem = value.map(ruleProblem).find((found) => found !== undefined)
  return problem !== undefined && `cannot be used: ${problem}`
}

function ruleSet(texts: readonly string[], decision: Ruling['decision']): NamedRule[] {
  const rules = texts.flatMap((text) => named(text, decision, { strict: decision !== 'allow' }) ?? [])
  // Which of several is named must not depend on their order: the one that says most.
  return rules.sort((a, b) => b.text.length - a.text.length || (a.text < b.text ? -1 : 1))
}

function named(
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
    said: `${prefix} ${text}`,
    fingerprint,
    // What a person allows is the tool as it is described then; the developer's own rules may speak of it by its name alone.
    matches: (tool, subject) =>
      matcher.matches(tool, subject) &&
      (strict || fingerprint === subject.fingerprint || (!fingerprint && !granted)),
  }
}

/** So many different rules are not granted at a time; a process that meets more reads some of them again. */
const mostKept = 1000

/** Reads the rules that people have allowed, each once. What is no rule, as an old log may have it, allows nothing. */
function grants(prefix: string): (texts: readonly string[]) => NamedRule[] {
  const known = new Map<string, NamedRule | undefined>()
  const read = (text: string) => {
    if (known.has(text)) return known.get(text)
    if (known.size >= mostKept) known.clear()
    const rule = named(text, `${prefix}:`, { granted: true })
    known.set(text, rule)
    return rule
  }
  return (texts) => texts.flatMap((text) => read(text) ?? [])
}
