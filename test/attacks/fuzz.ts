import { commonLines } from './common-lines.ts'
import type { Fixture } from './fixture.ts'
import type { Jail, Outcome } from './jail.ts'
import { isBreach, type PolicyName, passesFor } from './policies.ts'
import { attackTable, type ShellName, shellNames } from './table.ts'

interface FuzzOptions {
  readonly seed: number
  /** How many lines, unless the time runs out first. */
  readonly count?: number
  readonly milliseconds?: number
}

/** A line that the rules allowed, and that did something they do not allow. */
interface Breach {
  readonly policy: PolicyName
  readonly shell: ShellName
  readonly line: string
}

interface FuzzResult {
  readonly lines: number
  /** How many ran, because some rules allowed them. */
  readonly tried: number
  readonly breach?: Breach
}

const linesPerRound = 400

/**
 * Generates lines from known attacks and common lines, and runs those that rules allow. Stops at
 * the first breach.
 */
export async function fuzz(
  fixture: Fixture,
  jail: Jail,
  { seed, count = Number.POSITIVE_INFINITY, milliseconds = Number.POSITIVE_INFINITY }: FuzzOptions,
): Promise<FuzzResult> {
  const end = Date.now() + milliseconds
  const next = mutator(sources(fixture), seed)
  let lines = 0
  let tried = 0
  while (lines < count && Date.now() < end) {
    const round = Array.from({ length: Math.min(linesPerRound, count - lines) }, next)
    lines += round.length
    for (const shell of shellNames) {
      const trial = await tryLines(shell, round, { fixture, jail })
      tried += trial.tried
      if (trial.breach) return { lines, tried, breach: await smallest(trial.breach, { fixture, jail }) }
    }
  }
  return { lines, tried }
}

interface Place {
  readonly fixture: Fixture
  readonly jail: Jail
}

async function tryLines(
  shell: ShellName,
  lines: readonly string[],
  { fixture, jail }: Place,
): Promise<{ tried: number; breach?: Breach }> {
  const passes = passesFor(shell, fixture)
  const passed = new Map<string, PolicyName[]>()
  for (const line of new Set(lines)) {
    const names = await passes(line)
    if (names.length > 0) passed.set(line, names)
  }
  const allowed = [...passed.keys()]
  const outcomes = await jail.run(shell, allowed)
  for (const [index, line] of allowed.entries())
    for (const policy of passed.get(line) ?? []) {
      const outcome = outcomes[index]
      if (outcome && breaks(policy, line, outcome))
        return { tried: allowed.length, breach: { policy, shell, line } }
    }
  return { tried: allowed.length }
}

/**
 * The allow-list has programs that write the files their arguments name, however their names are
 * quoted.
 */
function breaks(policy: PolicyName, line: string, outcome: Outcome): boolean {
  const writers = /\b(?:sort|tar|sed|find)\b/
  const mayWrite = policy === 'a usual allow-list' && writers.test(line.replace(/["'\\\n]/g, ''))
  return isBreach(policy, mayWrite ? { ...outcome, changes: [] } : outcome)
}

/** Shortens a line to what is needed for the breach. */
async function smallest(breach: Breach, { fixture, jail }: Place): Promise<Breach> {
  const passes = passesFor(breach.shell, fixture)
  let { line } = breach
  for (let size = Math.ceil(line.length / 2); size >= 1; ) {
    const shorter = Array.from({ length: line.length }, (_, at) => line.slice(0, at) + line.slice(at + size))
    const passing: string[] = []
    for (const one of new Set(shorter)) if ((await passes(one)).includes(breach.policy)) passing.push(one)
    const outcomes = await jail.run(breach.shell, passing)
    const found = passing.find((one, index) => {
      const outcome = outcomes[index]
      return outcome && breaks(breach.policy, one, outcome)
    })
    if (found === undefined) size = Math.floor(size / 2)
    else line = found
    size = Math.min(size, line.length)
  }
  return { ...breach, line }
}

function sources(fixture: Fixture): string[] {
  const attacks = attackTable(fixture).filter(({ checkedOnly }) => !checkedOnly)
  return [...attacks.map(({ line }) => line), ...commonLines.map(([line]) => line)]
}

const pieces = [
  ...'\'"`$(){}[]<>|&;!#\\ \n\t=*?~,@+-0a%^:/\r\f\u00a0\u2003\u0001',
  ...[
    '$(',
    '))',
    '((',
    '$((',
    "$'",
    '$"',
    '<<',
    "<<'E'\n",
    '\nE\n',
    '<(',
    '>(',
    '&&',
    '||',
    ';;',
    '\\\n',
    '>&',
  ],
  ...[
    '[[',
    ']]',
    ' in ',
    ' do ',
    ' done ',
    ' #',
    '$'.concat('{'),
    ' marker ',
    ';marker',
    '\nmarker\n',
    ' -- ',
    '/dev/',
  ],
  ...[
    ' > out/x',
    ' > ../outside/w',
    ' < b.txt',
    ' 3<b.txt',
    '>/dev/fd/3',
    ' -o ',
    ' --',
    ' -e',
    ' .git ',
    'PATH=bin ',
  ],
  ...[
    'cd out && ',
    'cd src; ',
    'CI=1 ',
    'timeout 5 ',
    'nice ',
    '! ',
    'time ',
    'command ',
    'echo ',
    'ls ',
    'cat ',
    'git ',
  ],
]
const operators = ['&&', '||', ';', '|', '&', '\n', '|&', ' ', '>', '<']

/** Returns one line after the other; the same for the same seed. */
function mutator(lines: readonly string[], seed: number): () => string {
  let state = seed
  const random = (below: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
  const one = (from: readonly string[]) => from[random(from.length)] ?? ''
  const part = (line: string) => {
    const from = random(line.length + 1)
    return [line.slice(0, from), line.slice(from)] as const
  }
  const mutations: readonly ((line: string) => string)[] = [
    (line) => part(line).join(one(pieces)),
    (line) => part(line).join(one(pieces)),
    (line) => {
      const at = random(line.length + 1)
      return line.slice(0, at) + line.slice(at + 1 + random(3))
    },
    (line) => {
      const [head, tail] = part(line)
      return head + tail.slice(0, 1 + random(8)) + tail
    },
    (line) => part(line)[0] + part(one(lines))[1],
    (line) => `${line}${one(operators)}${one(lines)}`,
    (line) => `${one(lines)}${one(operators)}${line}`,
    (line) => one(pieces) + line,
    (line) => {
      const [head, tail] = part(line)
      const quote = one(["'", '"', "$'", '`'])
      const length = 1 + random(6)
      return `${head}${quote}${tail.slice(0, length)}${quote.slice(-1)}${tail.slice(length)}`
    },
    (line) => line.replace(/&&|\|\||[;|&\n<>]/, () => one(operators)),
    (line) => {
      const words = line.split(' ')
      return words.toSpliced(random(words.length), 1, one(one(lines).split(' '))).join(' ')
    },
  ]
  return () => {
    let line = one(lines)
    for (let times = 1 + random(4); times > 0; times--)
      line = (mutations[random(mutations.length)] ?? String)(line)
    return line
  }
}
