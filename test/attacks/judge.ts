import { permission, shell } from '../../src/tools/built-in.ts'
import type { Policy, Ruling } from '../../src/tools/index.ts'
import { type Outcome, shellPath } from './jail.ts'
import type { ShellName } from './table.ts'
import type { World } from './world.ts'

type Decision = Ruling['decision']

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

/** Programs that work on files, some of which run others when an option says so. */
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

/** What is said of a line, as an agent's shell tool would ask. */
export function lineJudge(policy: Policy, { workspace, program }: { workspace: string; program: string }) {
  const [tool] = shell({ workspace, sandbox: 'off', program }).tools
  if (!tool) throw new Error('the toolbox has no shell')
  return async (line: string): Promise<Decision> => {
    const input = { command: line }
    const checked = await tool.schema.check(input)
    // The tool itself refuses what no shell could be given.
    if (!('value' in checked)) return 'deny'
    const access = await tool.access?.(checked.value as never)
    return (await policy.judge({ name: tool.name, input, access }, [])).decision
  }
}

/** One judge for each policy, for lines of this shell. */
export function judgesFor(shellName: ShellName, world: World) {
  const place = { workspace: world.workspace, program: shellPath(shellName, world) }
  return policyNames.map((name) => ({ name, judge: lineJudge(policies[name], place) }))
}

/** Whether a line that passed has done what its rules do not allow. */
export function isBreach(policy: PolicyName, { mark, changes }: Outcome): boolean {
  if (mark || policy === 'most programs allowed') return mark
  return policy === 'a usual allow-list' ? changes.some(isOutsideOfOut) : changes.length > 0
}

/** Whether it would be one where a line cannot be tried. */
export function mayBreach(policy: PolicyName, line: string): boolean {
  return policy !== 'most programs allowed' || line.includes('marker')
}

export function isOutsideOfOut(path: string): boolean {
  return !/^workspace\/out(?:\/|$)/.test(path)
}
