import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { some } from '../size.ts'
import { type Fixture, openFixture, programPath } from './fixture.ts'
import { canTry, type Jail, type Outcome, openJail } from './jail.ts'
import { isBreach, isOutsideOfOut, mayBreach, type PolicyName, passesFor, policyNames } from './policies.ts'
import { type Attack, attackTable, type ShellName, shellNames } from './table.ts'

// All lines take minutes. After a change of the table, run TEST_SIZE=1 npx vitest run test/attacks
let fixture: Fixture
let jail: Jail
let attacks: readonly Attack[]
beforeAll(() => {
  fixture = openFixture()
  jail = openJail(fixture)
  attacks = attackTable(fixture)
})
afterAll(() => fixture.close())

const canRun = ({ checkedOnly, needs }: Attack) =>
  canTry() && !checkedOnly && (!needs || programPath(needs) !== undefined)

test('the table has more than 600 lines without duplicates', () => {
  expect(attacks.length).toBeGreaterThan(600)
  expect(new Set(attacks.map(({ line }) => line)).size).toBe(attacks.length)
  for (const shell of shellNames)
    expect(attacks.filter(({ shells }) => shells.includes(shell)).length).toBeGreaterThan(600)
})

/** Other versions of shells and programs may have fixed what a few lines use. */
const mostClosed = 0.03

test.runIf(canTry())('the lines of the table do harm where no rule checks them', async () => {
  const known = attacks.filter(canRun)
  expect(known.length / attacks.length).toBeGreaterThan(0.8)
  const tried = some(known)
  const done = new Set<Attack>()
  for (const shell of shellNames) {
    const open = tried.filter((attack) => !done.has(attack) && attack.shells.includes(shell))
    const outcomes = await jail.run(
      shell,
      open.map(({ line }) => line),
    )
    for (const [index, { mark, changes }] of outcomes.entries())
      if (mark || changes.some(isOutsideOfOut)) done.add(open[index] as Attack)
  }
  const harmless = tried.filter((attack) => !done.has(attack)).map(({ line }) => line)
  if (harmless.length > tried.length * mostClosed) expect(harmless).toEqual([])
})

test.runIf(canTry())('the jail reports what a line has done', async () => {
  const lines = [
    'true',
    'marker',
    'echo x > out/new',
    'echo x > ../outside/new; marker',
    'chmod 700 a.txt',
    'git status',
    'rm b.txt',
    'true',
  ]
  expect(await jail.run('dash', lines)).toEqual([
    { mark: false, changes: [] },
    { mark: true, changes: [] },
    { mark: false, changes: ['workspace/out', 'workspace/out/new'] },
    { mark: true, changes: ['outside', 'outside/new'] },
    { mark: false, changes: ['workspace/a.txt'] },
    { mark: false, changes: [] },
    { mark: false, changes: ['workspace'] },
    { mark: false, changes: [] },
  ])
})

describe.each(shellNames)('in %s', (shell: ShellName) => {
  const passing = new Map<Attack, readonly PolicyName[]>()
  beforeAll(async () => {
    const passes = passesFor(shell, fixture)
    for (const attack of some(attacks)) passing.set(attack, await passes(attack.line))
  })

  test.each(policyNames)('with %s no line does harm', async (policy) => {
    const allowed = attacks.filter(
      (attack) =>
        passing.get(attack)?.includes(policy) &&
        // A program that a rule allows may write the files that its arguments name.
        !(attack.ownWrite && policy === 'a usual allow-list'),
    )
    const tried = allowed.filter(canRun)
    const outcomes = await jail.run(shell, linesOf(tried))
    const breaches = tried.filter((_, index) => isBreach(policy, outcomes[index] as Outcome))
    const untried = allowed.filter((attack) => !canRun(attack) && mayBreach(policy, attack.line))
    expect(linesOf([...breaches, ...untried])).toEqual([])
  })
})

function linesOf(attacks: readonly Attack[]): string[] {
  return attacks.map(({ line }) => line)
}
