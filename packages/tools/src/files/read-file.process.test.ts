import { execFileSync } from 'node:child_process'
import { ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toParts } from '../../../millrace/src/tools/content.ts'
import { filesKit } from './files.test-kit.ts'

let kit: ReturnType<typeof filesKit>
beforeEach(() => {
  kit = filesKit()
})
afterEach(() => kit.remove())

const read = (input: Record<string, unknown>, options = {}) => kit.call('read_file', input, options)

describe('text', () => {
  test('has line numbers, with or without a final line break', async () => {
    kit.put({ 'a.txt': 'one\n\n  three\n', 'b.txt': 'one\ntwo' })
    expect(await read({ path: 'a.txt' })).toBe('     1\tone\n     2\t\n     3\t  three')
    expect(await read({ path: 'b.txt' })).toBe('     1\tone\n     2\ttwo')
  })

  test('of a part has a note about which lines, and how to continue', async () => {
    kit.put({ 'a.txt': '1\n2\n3\n4\n5\n' })
    expect(await read({ path: 'a.txt', offset: 2, limit: 2 })).toBe(
      '     2\t2\n     3\t3\n[lines 2–3 of 5: use offset 4 for more]',
    )
    expect(await read({ path: 'a.txt', offset: 4 })).toBe(
      '     4\t4\n     5\t5\n[lines 4–5 of 5: end of file]',
    )
  })

  test('past the end is an error with the number of lines', async () => {
    kit.put({ 'a.txt': '1\n2\n', 'empty.txt': '' })
    expect(await read({ path: 'a.txt', offset: 3 })).toBe(
      "The tool failed: 'a.txt' has only 2 lines: use a smaller offset.",
    )
    expect(await read({ path: 'empty.txt', offset: 3 })).toBe('[the file is empty]')
  })

  test('has 2000 lines by default, and long lines are cut', async () => {
    kit.put({ 'many.txt': 'x\n'.repeat(5321), 'long.txt': `${'ü'.repeat(3000)}\nend\n` })
    const many = await read({ path: 'many.txt' })
    expect(many.split('\n')).toHaveLength(2001)
    expect(many).toMatch(/\n {2}2000\tx\n\[lines 1–2000 of 5321: use offset 2001 for more\]$/)
    expect(await read({ path: 'long.txt' })).toBe(
      `     1\t${'ü'.repeat(2000)}… [line cut at 2000 characters]\n     2\tend`,
    )
  })

  test('a cut line never ends with half a character', async () => {
    kit.put({ 'a.txt': `x${'😀'.repeat(5000)}\n` })
    expect(await read({ path: 'a.txt' })).toBe(`     1\tx${'😀'.repeat(999)}… [line cut at 2000 characters]`)
  })

  test('stops at maxReadBytes between two lines, but has at least one', async () => {
    kit.put({ 'a.txt': `${'x'.repeat(50)}\n`.repeat(10) })
    expect(await read({ path: 'a.txt' }, { maxReadBytes: 120 })).toMatch(/\[lines 1–2 of 10: use offset 3/)
    expect(await read({ path: 'a.txt' }, { maxReadBytes: 10 })).toMatch(/\[lines 1–1 of 10: use offset 2/)
  })

  test('is read without BOM and line endings, also in UTF-16', async () => {
    const text = 'größe\r\nzwei 😀\r\n'
    const little = Buffer.from(`\ufeff${text}`, 'utf16le')
    kit.put({ 'utf8.txt': `\ufeff${text}`, 'le.txt': little, 'be.txt': Buffer.from(little).swap16() })
    for (const path of ['utf8.txt', 'le.txt', 'be.txt'])
      expect(await read({ path })).toBe('     1\tgröße\n     2\tzwei 😀')
  })

  test('line breaks and characters across chunks are joined', async () => {
    // Chunks have 256 KiB: the ü spans the first boundary, a line break the second.
    const first = `${'a'.repeat(256 * 1024 - 1)}ü\n`
    const second = `${'b'.repeat(512 * 1024 - Buffer.byteLength(first) - 1)}\r\nlast\r\n`
    kit.put({ 'a.txt': first + second })
    expect((await read({ path: 'a.txt', offset: 3 })).split('\n')[0]).toBe('     3\tlast')
    expect(await read({ path: 'a.txt', offset: 2, limit: 1 })).toMatch(/of 3: use offset 3 for more\]$/)
  })

  test('far into a file of 10 GB needs little memory, and the rest is not counted', async () => {
    const file = openSync(join(kit.root, 'huge.txt'), 'w')
    const block = `${'x'.repeat(99)}\n`.repeat(100_000)
    for (let at = 0; at < 10; at++) writeSync(file, block)
    // The rest is a hole, which reads as zeros.
    ftruncateSync(file, 10 * 2 ** 30)
    const before = process.memoryUsage().rss
    const part = await read({ path: 'huge.txt', offset: 900_001, limit: 2 })
    const line = 'x'.repeat(99)
    expect(part).toBe(
      ` 900001\t${line}\n 900002\t${line}\n[lines 900001–900002, and there are more: use offset 900003]`,
    )
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20)
  })
})

describe('images', () => {
  const heads = {
    'image/png': '\x89PNG\r\n\x1a\n',
    'image/jpeg': '\xff\xd8\xff\xe0',
    'image/gif': 'GIF89a',
    'image/webp': 'RIFF\x10\0\0\0WEBPVP8 ',
  }

  test.each(Object.entries(heads))('%s is shown, whatever its name', async (mediaType, head) => {
    const data = Buffer.concat([Buffer.from(head, 'latin1'), Buffer.alloc(2000, 7)])
    kit.put({ 'picture.dat': data })
    expect(toParts(await read({ path: 'picture.dat' }))).toEqual([
      { type: 'text', text: `picture.dat: ${mediaType}, 2 KiB` },
      { type: 'image', data: data.toString('base64'), mediaType },
    ])
  })

  test('that are too large are rejected', async () => {
    kit.put({ 'a.png': Buffer.concat([Buffer.from(heads['image/png'], 'latin1'), Buffer.alloc(2000)]) })
    expect(await read({ path: 'a.png' }, { maxImageBytes: 1024 })).toBe(
      "The tool failed: 'a.png' is an image (image/png) of 2 KiB, but images can have at most 1 KiB: create a smaller copy first.",
    )
  })
})

describe('unreadable', () => {
  const hint =
    'but only UTF-8 text and images can be read: if you can run commands, inspect it with file, xxd or iconv.'

  test.each([
    ['a ZIP archive', 'PK\x03\x04rest'],
    ['a PDF document', '%PDF-1.7\n'],
    ['a binary file', 'text and\0more'],
    ['not valid UTF-8 text', 'caf\xe9 au lait\n'],
  ])('%s', async (kind, bytes) => {
    kit.put({ x: Buffer.from(bytes, 'latin1') })
    expect(await read({ path: 'x' })).toBe(`The tool failed: 'x' is ${kind} (${bytes.length} bytes), ${hint}`)
  })

  test('a folder: lists its first names', async () => {
    kit.put({ 'src/a.ts': '', 'src/b.ts': '' })
    mkdirSync(join(kit.root, 'none'))
    expect(await read({ path: 'src' })).toBe(
      "The tool failed: 'src' is a folder: list_files shows what is in it, such as 'a.ts', 'b.ts'.",
    )
    expect(await read({ path: 'none' })).toMatch(/nothing \(it is empty\)/)
  })

  test('a missing file: lists similar names', async () => {
    kit.put({ 'src/server.ts': '', 'src/client.ts': '' })
    expect(await read({ path: 'src/Sever.ts' })).toBe(
      "The tool failed: There is no file 'src/Sever.ts' in the workspace; similar names in 'src': 'server.ts'.",
    )
    expect(await read({ path: 'scr/server.ts' })).toMatch(/; similar names in it: 'src'\.$/)
    expect(await read({ path: 'elsewhere/a.ts' })).toMatch(/, nor a folder 'elsewhere' in it\.$/)
    expect(await read({ path: 'src/server.ts/x' })).toBe("The tool failed: 'src/server.ts' is not a folder.")
  })

  test('names that may not be read are not listed', async () => {
    kit.put({ 'src/server.ts': '' })
    const checkAccess = async ({ path }: { path?: string }) => (path === 'src' ? 'no' : undefined)
    expect(
      await kit.call('read_file', { path: 'src/sever.ts' }, {}, { checkAccess: checkAccess as never }),
    ).toBe("The tool failed: There is no file 'src/sever.ts' in the workspace.")
  })

  test('a pipe or a socket, at once', async () => {
    execFileSync('mkfifo', [join(kit.root, 'pipe')])
    expect(await read({ path: 'pipe' })).toBe(
      "The tool failed: 'pipe' is a pipe, not a regular file: only regular files can be read or written.",
    )
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(kit.root, 'socket'), resolve))
    try {
      expect(await read({ path: 'socket' })).toMatch(/is a socket, not a regular file/)
    } finally {
      server.close()
    }
  })

  test('a path that the rules deny, by the target of a link', async () => {
    kit.put({ '.env': 'KEY=1\n' })
    execFileSync('ln', ['-s', '.env', join(kit.root, 'harmless.txt')])
    const checkAccess = async ({ path }: { path?: string }) =>
      path === '.env' ? 'the rule deny read(.env) is against it' : undefined
    const said = await kit.call(
      'read_file',
      { path: 'harmless.txt' },
      {},
      { checkAccess: checkAccess as never },
    )
    expect(said).toBe("The tool failed: '.env' may not be read: the rule deny read(.env) is against it.")
  })
})

test('a canceled read ends', async () => {
  writeFileSync(join(kit.root, 'a.txt'), 'x\n')
  const signal = AbortSignal.abort(new Error('canceled'))
  expect(await kit.call('read_file', { path: 'a.txt' }, {}, { signal })).toBe('The tool failed: canceled')
})
