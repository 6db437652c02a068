import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { run } from './permission.test-kit.ts'
import { permission } from './permission.ts'
import { permissionFile } from './permission-file.ts'

const root = mkdtempSync(join(tmpdir(), 'millrace-permission-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const freshFolder = () => mkdtempSync(join(root, 'case-'))
const freshFile = () => join(freshFolder(), 'permissions.json')
const script = fileURLToPath(new URL('./permission-file-child.test-kit.ts', import.meta.url))
const rulesIn = (file: string): string[] => JSON.parse(readFileSync(file, 'utf8')).rules

/** A child process that adds rules. */
function adder(file: string, name: string, count: number) {
  const child = spawn(process.execPath, [script, file, name, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, said: once(child.stdout, 'data'), ended: once(child, 'close') }
}

describe('a permission file', () => {
  test('cannot be written by tools in any workspace, so that an agent cannot grant itself permissions', async () => {
    const file = join(freshFolder(), '.millrace', 'rules [a].json')
    const memory = permissionFile(file)
    const { decide } = permission({ allow: ['write', 'run'], memory })
    const decided = async (path: string) =>
      (await decide({ name: 'write_file', input: {}, access: [{ kind: 'write', path }] }, ['write'])).decision
    for (const path of [
      file,
      '.millrace/rules [a].json',
      'deep/.millrace/rules [a].json',
      '.millrace/RULES [A].json',
    ])
      expect([path, await decided(path)]).toEqual([path, 'deny'])
    for (const path of ['src/a.ts', '.millrace/other.json', 'rules [a].json'])
      expect([path, await decided(path)]).toEqual([path, 'allow'])
    const here = permission({ allow: ['write'], memory: permissionFile('rules.json') })
    const call = { name: 'x', input: {}, access: [{ kind: 'write', path: 'rules.json' }] } as const
    expect((await here.decide(call, [])).decision).toBe('deny')
  })

  test('need not exist', async () => {
    const file = freshFile()
    expect(await permissionFile(file).rules()).toEqual([])
    expect(existsSync(file)).toBe(false)
  })

  test('keeps added rules once, also for the next process', async () => {
    const file = join(freshFolder(), 'a', 'b', 'permissions.json')
    await permissionFile(file).add(['run(npm test)', 'read'])
    await permissionFile(pathToFileURL(file)).add(['read', 'lookup_order'])
    expect(await permissionFile(file).rules()).toEqual(['run(npm test)', 'read', 'lookup_order'])
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      rules: ['run(npm test)', 'read', 'lookup_order'],
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(file, '..'))).toEqual(['permissions.json'])
  })

  test('is read again after a person has edited it, and keeps other fields', async () => {
    const file = freshFile()
    const policy = permission({ memory: permissionFile(file) })
    const decide = async () => policy.decide({ name: 'shell', input: {}, access: [run('ls')] }, [])
    expect(await decide()).toMatchObject({ decision: 'ask', rules: ['run(ls)'] })
    await policy.memory?.add(['run(ls)'])
    expect(await decide()).toMatchObject({ decision: 'allow', rule: 'always allowed: run(ls)' })
    writeFileSync(file, '{ "version": 1, "note": "Ada was here", "rules": [] }')
    expect(await decide()).toMatchObject({ decision: 'ask' })
    await policy.memory?.add(['read'])
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      note: 'Ada was here',
      rules: ['read'],
    })
  })

  test.each([
    [
      '{ "version": 1, "rules": [',
      /is not JSON \(.+\)\. Fix the file, or delete it to start over; nothing was changed/,
    ],
    ['', /is not JSON/],
    ['["read"]', /does not have the form/],
    ['{ "rules": ["read"] }', /has version undefined, but only version 1 is supported/],
    ['{ "version": 2, "rules": [] }', /has version 2, but only version 1 is supported/],
    [
      '{ "version": 1, "rules": ["read", "run(", 7] }',
      /the rule 'run\(' has unbalanced parentheses.*; a rule must be a string/,
    ],
  ])('with %s is an error that says what to do, and stays unchanged', async (content, message) => {
    const file = freshFile()
    writeFileSync(file, content)
    const memory = permissionFile(file)
    for (const attempt of [async () => memory.rules(), () => memory.add(['read'])])
      await expect(attempt()).rejects.toMatchObject({
        code: 'store_error',
        message: expect.stringMatching(message),
      })
    expect(readFileSync(file, 'utf8')).toBe(content)
    expect(readdirSync(join(file, '..'))).toEqual(['permissions.json'])
  })

  test('accepts only valid rules', async () => {
    const file = freshFile()
    await expect(permissionFile(file).add(['read', 'run('])).rejects.toMatchObject({ code: 'invalid_input' })
    expect(existsSync(file)).toBe(false)
  })

  test('is named in errors as the caller named it', async () => {
    const folder = freshFolder()
    writeFileSync(join(folder, 'plain'), '')
    const memory = permissionFile(pathToFileURL(join(folder, 'plain', 'permissions.json')))
    const problem = await memory.add(['read']).catch((error: Error) => error)
    expect(problem).toMatchObject({
      code: 'store_error',
      message: "'permissions.json' cannot be written (EEXIST)",
    })
    await expect(async () => permissionFile(pathToFileURL(folder)).rules()).rejects.toThrow(
      /cannot be read \(EISDIR\)/,
    )
  })

  test.each([[''], [7], ['a\0b'], [new URL('https://example.com/x')]])('rejects the path %j', (path) => {
    expect(() => permissionFile(path as string)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
  })
})

describe('concurrent writers', () => {
  test('lose nothing: two processes and this one', async () => {
    const file = freshFile()
    const others = [adder(file, 'one', 40), adder(file, 'two', 40)]
    await Promise.all(others.map(({ said }) => said))
    const memory = permissionFile(file)
    await Promise.all(Array.from({ length: 40 }, (_, n) => memory.add([`here_${n}`])))
    expect(await Promise.all(others.map(({ ended }) => ended))).toEqual([
      [0, null],
      [0, null],
    ])
    const all = ['here', 'one', 'two'].flatMap((name) => Array.from({ length: 40 }, (_, n) => `${name}_${n}`))
    expect(rulesIn(file).sort()).toEqual(all.sort())
    expect(readdirSync(join(file, '..'))).toEqual(['permissions.json'])
  })

  test('are not blocked by a killed process, and its reported rules are kept', async () => {
    const file = freshFile()
    for (const name of ['a', 'b', 'c']) {
      const { child, said, ended } = adder(file, name, 100_000)
      await said
      child.kill('SIGKILL')
      await ended
      await permissionFile(file).add([`after_${name}`])
      expect(rulesIn(file)).toEqual(expect.arrayContaining([`${name}_0`, `after_${name}`]))
    }
  })

  test('remove the lock of a dead process, only one of them', async () => {
    const file = freshFile()
    const { child, ended } = adder(file, 'x', 0)
    await ended
    writeFileSync(`${file}.lock`, `${hostname()} ${child.pid} 1`)
    await Promise.all(Array.from({ length: 20 }, (_, n) => permissionFile(file).add([`rule_${n}`])))
    expect(rulesIn(file)).toHaveLength(20)
    expect(readdirSync(join(file, '..'))).toEqual(['permissions.json'])
  })

  test.each([
    ['of another machine', 'elsewhere 1 1'],
    ['of a process whose pid was reused', `${hostname()} ${process.pid} 1`],
    ['that is empty', ''],
  ])('remove an old lock %s', async (_, mark) => {
    const file = freshFile()
    for (const left of [`${file}.lock`, `${file}.lock.stale`]) {
      writeFileSync(left, mark)
      utimesSync(left, 1, 1)
    }
    await permissionFile(file).add(['read'])
    expect(rulesIn(file)).toEqual(['read'])
    expect(readdirSync(join(file, '..'))).toEqual(['permissions.json'])
  })

  test('wait for a lock that is held', async () => {
    const file = freshFile()
    writeFileSync(`${file}.lock`, `${hostname()} ${process.pid} 1`)
    let added = false
    const adding = permissionFile(file)
      .add(['read'])
      .then(() => {
        added = true
      })
    await permissionFile(freshFile()).add(['read'])
    await permissionFile(freshFile()).add(['read'])
    expect({ added, there: existsSync(file) }).toEqual({ added: false, there: false })
    rmSync(`${file}.lock`)
    await adding
    expect(rulesIn(file)).toEqual(['read'])
  })
})
