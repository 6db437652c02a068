import type { Policy, PolicyDecision } from '../../packages/millrace/src/tools/index.ts'
import { permission, shell } from '../../packages/tools/src/index.ts'
import type { Fixture } from './fixture.ts'
import { type Outcome, shellPath } from './jail.ts'
import type { ShellName } from './table.ts'

type Decision = PolicyDecision['decision']

const commands = [
  ...[
    'ls *',
    'echo *',
    'cat *',
    'git status *',
    'git log *',
    'git diff *',
    'grep *',
    'rg *',
    'find *',
    'sort *',
  ],
  ...['tar *', 'sed *', 'npm test', 'cd *', 'true', 'printf *', 'test *', 'read *', 'export *', '[ *'],
]

/** Programs that work on files. Some of them have an option that runs another program. */
const programs = [
  ...[
    'git',
    'find',
    'fd',
    'rg',
    'grep',
    'sort',
    'uniq',
    'tar',
    'sed',
    'curl',
    'wget',
    'zip',
    'unzip',
    'rsync',
  ],
  ...[
    'split',
    'tee',
    'dd',
    'gzip',
    'cp',
    'mv',
    'tree',
    'file',
    'ls',
    'cat',
    'echo',
    'printf',
    'true',
    'cd',
    'jq',
  ],
]

export const policyNames = [
  'nothing allowed',
  'a usual allow-list',
  'most programs allowed',
  'read-only mode',
] as const
export type PolicyName = (typeof policyNames)[number]

const policies: Readonly<Record<PolicyName, Policy>> = {
  'nothing allowed': permission({ otherwise: 'deny' }),
  'a usual allow-list': permission({
    allow: [...commands.map((command) => `run(${command})`), 'write(out/**)'],
    otherwise: 'deny',
  }),
  'most programs allowed': permission({
    allow: [...programs.map((program) => `run(${program} *)`), 'read', 'write'],
    otherwise: 'deny',
  }),
  'read-only mode': permission({ mode: 'read-only' }),
}

/** The decision of each policy on a line, as an agent's shell tool would request it. */
export function lineDecider<Name extends string>(
  policies: Readonly<Record<Name, Policy>>,
  { workspace, program }: { workspace: string; program: string },
) {
  const [tool] = shell({ workspace, sandbox: 'off', program }).tools
  if (!tool) throw new Error('the toolbox has no shell')
  const names = Object.keys(policies) as Name[]
  return async (line: string): Promise<Record<Name, Decision>> => {
    const input = { command: line }
    const checked = await tool.schema.check(input)
    // The tool itself rejects invalid input.
    const access = 'value' in checked ? await tool.access?.(checked.value as never) : undefined
    const decide = async (name: Name) =>
      'value' in checked
        ? (await policies[name].decide({ name: tool.name, input, access }, [])).decision
        : 'deny'
    const decisions = await Promise.all(names.map(async (name) => [name, await decide(name)] as const))
    return Object.fromEntries(decisions) as Record<Name, Decision>
  }
}

/** The policies that allow a line of this shell. */
export function passesFor(shellName: ShellName, fixture: Fixture): (line: string) => Promise<PolicyName[]> {
  const decideLine = lineDecider(policies, {
    workspace: fixture.workspace,
    program: shellPath(shellName, fixture),
  })
  return async (line) => {
    const decisions = await decideLine(line)
    return policyNames.filter((name) => decisions[name] === 'allow')
  }
}

/** Whether an allowed line did something that its rules do not allow. */
export function isBreach(policy: PolicyName, { mark, changes }: Outcome): boolean {
  if (mark || policy === 'most programs allowed') return mark
  return policy === 'a usual allow-list' ? changes.some(isOutsideOfOut) : changes.length > 0
}

/** Whether a line that cannot be run could be a breach. */
export function mayBreach(policy: PolicyName, line: string): boolean {
  return policy !== 'most programs allowed' || line.includes('marker')
}

export function isOutsideOfOut(path: string): boolean {
  return !/^workspace\/out(?:\/|$)/.test(path)
}
