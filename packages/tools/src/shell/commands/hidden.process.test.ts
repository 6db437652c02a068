import type { Access } from 'millrace'
import { describe, expect, it } from 'vitest'
import { permission } from '../../permission/permission.ts'
import { commandAccess } from './commands.ts'
import { runForReal, tableOf } from './lines.test-kit.ts'

const folders = { root: '/workspace', cwd: '/workspace', home: '/root' }
const table = tableOf('hidden.table.txt')
const attempts = table.get('attempts') ?? []
const elsewhere = table.get('elsewhere') ?? []
// The lines are for a current bash and GNU tools.
const isLinux = process.platform === 'linux'

const rules = permission({
  allow: ['run(echo *)', 'run(ls *)', 'run(cat *)', 'run(git status)', 'read', 'write'],
  otherwise: 'deny',
})

async function isAllowed(line: string): Promise<boolean> {
  const access: readonly Access[] = commandAccess(line, folders)
  const { decision } = await rules.decide({ name: 'shell', input: {}, access }, [])
  return decision === 'allow'
}

describe('a command that no rule allows', () => {
  it.each([...attempts, ...elsewhere])('is not hidden by %j', async (line) => {
    expect(await isAllowed(line)).toBe(false)
  })

  it.runIf(isLinux)('is run by bash in every one of these lines', { timeout: 60_000 }, async () => {
    const hits = await runForReal(attempts)
    expect(attempts.filter((_, index) => !hits[index])).toEqual([])
  })

  it.each(['echo x\u00a0;marker\u00a0y', 'echo\u2003x', 'ls\r', 'git status\v'])(
    'is not hidden by a character that only looks like a space: %j',
    (line) => {
      expect(commandAccess(line, folders)).toMatchObject([{ command: line.trim(), opaque: true }])
    },
  )
})
