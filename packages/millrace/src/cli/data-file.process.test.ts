import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasTerminals, homeWith, openTerminal } from './cli.test-kit.ts'

describe.concurrent('the data file', () => {
  test('has no -wal file next to it when a command has ended', async () => {
    const home = await homeWith(['kept'])
    await home.run(['--data', 'own.db', 'hello'])
    expect(existsSync(join(home.folder, 'own.db-wal'))).toBe(false)
    expect(statSync(join(home.folder, 'own.db')).size).toBeGreaterThan(4096)
  })

  test.runIf(hasTerminals)(
    'has its own history file; another file named history is not touched',
    async () => {
      const home = await homeWith(['hi there'])
      const own = join(home.folder, 'history')
      writeFileSync(own, 'a history of mills\n')
      const chat = openTerminal(home, ['--data', 'own.db'])
      await chat.see('›')
      chat.type('hello\r')
      await chat.see('hi there')
      chat.type('\x04')
      await chat.ended
      expect(readFileSync(own, 'utf8')).toBe('a history of mills\n')
      expect(readFileSync(join(home.folder, 'own.db.history'), 'utf8')).toContain('hello')
    },
  )
})
