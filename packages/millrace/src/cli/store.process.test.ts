import { expect, test } from 'vitest'
import { afterFile } from '../../../../test/clean-up.ts'
import { postgresServer } from '../../../../test/postgres-server.ts'
import { hasTerminals, homeWith, linesOf, makeHome, openTerminal } from './cli.test-kit.ts'
import { toolsFile } from './tools.test-kit.ts'

const postgres = postgresServer()
afterFile(async () => (await postgres).close())

/** An address with a password, which the server does not ask for. */
async function database(): Promise<string> {
  const address = await (await postgres).database(`db_${crypto.randomUUID().replaceAll('-', '')}`)
  return address.replace('postgres@', 'postgres:s3cret@')
}

test('every command works on threads in PostgreSQL', async () => {
  const home = await homeWith(['Ahoy.', 'Ahoy again.'])
  const store = ['--store', await database()]
  const run = async (...args: string[]) => {
    const { exit, stdout, stderr } = await home.run([...args, ...store])
    expect(stderr).not.toContain('s3cret')
    return { exit, stdout }
  }
  expect(await run('hello', '--thread', 'mine', '--new')).toEqual({ exit: 0, stdout: 'Ahoy.\n' })
  expect(await run('hello', '--thread', 'mine')).toEqual({ exit: 0, stdout: 'Ahoy again.\n' })
  const { stdout } = await run('threads', '--json')
  expect(linesOf(stdout)).toMatchObject([{ thread: { id: 'mine', title: 'hello', status: 'idle' } }])
  expect(await run('show', 'mine')).toMatchObject({ stdout: expect.stringContaining('Ahoy again.') })
  expect(await run('export', 'mine')).toMatchObject({ stdout: expect.stringContaining('Ahoy.') })
  expect(await run('stop', 'mine')).toEqual({ exit: 0, stdout: '' })
  expect(await run('delete', 'mine')).toEqual({ exit: 0, stdout: '' })
  expect(await run('show', 'mine')).toMatchObject({ exit: 2 })
})

test('MILLRACE_STORE is used without a flag, and --data instead of it', async () => {
  const home = await homeWith(['Ahoy.', 'Ahoy.'])
  const env = { MILLRACE_STORE: await database() }
  await home.run(['hello', '--thread', 'there', '--new'], { env })
  await home.run(['hello', '--thread', 'here', '--new', '--data', 'own.db'], { env })
  expect(await home.run(['show', 'there'], { env })).toMatchObject({ exit: 0 })
  expect(await home.run(['show', 'there', '--data', 'own.db'], { env })).toMatchObject({ exit: 2 })
  expect(await home.run(['show', 'here', '--store', 'sqlite:own.db'], { env })).toMatchObject({ exit: 0 })
})

test('hints name the store without its password', async () => {
  const home = await homeWith([[{ call: 'refund', input: { id: 'A1' } }]])
  const args = ['refund A1', '--tools', home.write('tools.ts', toolsFile), '--store', await database()]
  const { exit, stderr } = await home.run(args)
  expect(exit).toBe(6)
  expect(stderr).toMatch(/--store 'postgres:\/\/postgres:\*\*\*@127\.0\.0\.1:\d+\/db_\w+'/)
  expect(stderr).not.toContain('s3cret')
})

test.runIf(hasTerminals)('a chat over PostgreSQL has its history in the data folder', async () => {
  const home = await homeWith(['hi there'])
  const store = ['--store', await database()]
  const chat = openTerminal(home, store)
  await chat.see('›')
  chat.type('hello\r')
  await chat.see('hi there')
  chat.type('\x04')
  await chat.ended
  const again = openTerminal(home, store)
  await again.see('›')
  again.type('\x1b[A')
  await again.see('hello')
  again.type('\x03\x04')
  await again.ended
})

test('an address of another database is rejected', async () => {
  expect(await makeHome().run(['threads', '--store', 'mysql://x'])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('--store must be postgres://…, sqlite:FILE or the path of a file'),
  })
})
