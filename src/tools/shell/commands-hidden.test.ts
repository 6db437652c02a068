import { describe, expect, it } from 'vitest'
import type { Access } from '../policy.ts'
import { commandAccess } from './commands.ts'
import { randomLines, runForReal, tableOf } from './commands-lines.test-kit.ts'

const place = { root: '/workspace', cwd: '/workspace' }
const table = tableOf('commands-hidden.table.txt')
const attempts = table.get('attempts') ?? []
const elsewhere = table.get('elsewhere') ?? []
// The lines are written for a bash of today and the tools of GNU.
const isLinux = process.platform === 'linux'

/** As rules for `echo *`, `ls *`, `cat *` and `git status` see it. */
function isAllowed(access: Access): boolean {
  if (access.kind !== 'run') return true
  return !access.opaque && /^(?:(?:echo|ls|cat)(?: |$)|git status$)/.test(access.command)
}

function isSeen(access: Access): boolean {
  if (access.kind === 'fetch') return false
  if (access.opaque) return true
  return (
    access.kind === 'run' &&
    [access.command, ...(access.also ?? [])].some((text) => /^marker(?: |$)/.test(text))
  )
}

describe('a command that no rule allows', () => {
  it.each([...attempts, ...elsewhere])('is not hidden by %j', (line) => {
    expect(commandAccess(line, place).every(isAllowed)).toBe(false)
  })

  it.runIf(isLinux)('would be run by bash in every one of these lines', { timeout: 60_000 }, async () => {
    const hits = await runForReal(attempts)
    expect(attempts.filter((_, index) => !hits[index])).toEqual([])
  })

  it.each([
    ['echo x\u00a0;marker\u00a0y', ["echo $'x\\u00a0'", "$'marker\\u00a0y'"]],
    ['echo\u2003x', ["$'echo\\u2003x'"]],
    ['ls\r', ["$'ls\\r'"]],
    ['git status\v', ["git $'status\\u000b'"]],
  ])('is told apart by a character that only looks like a space: %j', (line, commands) => {
    expect(commandAccess(line, place)).toMatchObject(commands.map((command) => ({ command })))
  })
})

describe.runIf(isLinux).each(['bash', 'sh'] as const)('whatever a real %s runs', (shell) => {
  it('was listed, or something was opaque', { timeout: 120_000 }, async () => {
    const lines = randomLines(shell === 'bash' ? 7 : 8, 300)
    const hits = await runForReal(lines, shell)
    const ran = lines.filter((_, index) => hits[index])
    expect(ran.length).toBeGreaterThan(50)
    expect(ran.filter((line) => !commandAccess(line, { ...place, shell }).some(isSeen))).toEqual([])
  })
})
