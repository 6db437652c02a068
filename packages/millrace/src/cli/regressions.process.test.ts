import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasTerminals, homeWith, linesOf, makeHome, openTerminal } from './cli.test-kit.ts'
import { toolsFile } from './tools.test-kit.ts'

describe.concurrent('the data file', () => {
  test('is all there is when a command has ended', async () => {
    const home = await homeWith(['kept'])
    await home.run(['--data', 'own.db', 'hello'])
    expect(existsSync(join(home.folder, 'own.db-wal'))).toBe(false)
    expect(statSync(join(home.folder, 'own.db')).size).toBeGreaterThan(4096)
  })

  test.runIf(hasTerminals)(
    'has a history of its own beside it: a file of that name is left alone',
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

describe.concurrent('--json', () => {
  test.each([
    ['no key', ['--json', 'hi'], 3],
    ['no such thread', ['--json', '--thread', 'nobody', 'hi'], 2],
    ['no such model', ['--json', '--model', 'nowhere/x', 'hi'], 2],
  ])('ends with a result when there is %s', async (_, args, exit) => {
    // Nothing is found where a local model would listen.
    const home = makeHome({ OLLAMA_HOST: 'http://127.0.0.1:9' })
    const ended = await home.run(args)
    expect(ended.exit).toBe(exit)
    expect(linesOf(ended.stdout).at(-1)).toMatchObject({ v: 1, result: { outcome: 'failed', error: {} } })
  })

  test('is not disturbed by what a tools file prints', async () => {
    const home = await homeWith(['fine'])
    const tools = home.write('loud.ts', `console.log('LOADING')\n${toolsFile}`)
    const { stdout, stderr } = await home.run(['--json', '--tools', tools, 'hi'])
    expect(linesOf(stdout).at(-1)).toMatchObject({ result: { text: 'fine' } })
    expect(stderr).toContain('LOADING')
  })
})
