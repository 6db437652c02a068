import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type EditorOptions, testEditor } from '../editor.test-kit.ts'
import { filesKit } from './files.test-kit.ts'

let kit: ReturnType<typeof filesKit>
beforeEach(() => {
  kit = filesKit()
})
afterEach(() => kit.remove())

const at = (path: string) => join(kit.root, path)
const onDisk = (path: string) => readFileSync(at(path), 'utf8')

function open(options?: EditorOptions & { roots?: readonly string[] }) {
  const editor = testEditor(options?.roots ?? [kit.root], options)
  return {
    ...editor,
    call: (name: string, input: Record<string, unknown>, more = {}) =>
      kit.call(name, input, {}, editor.context(more)),
  }
}

describe('reading', () => {
  test('shows what is not saved yet, with the same numbers, ranges and limits', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    const editor = open()
    editor.type(at('a.txt'), 'one\ntwo\nthree')
    expect(await editor.call('read_file', { path: 'a.txt' })).toBe('     1\tone\n     2\ttwo\n     3\tthree')
    expect(await editor.call('read_file', { path: 'a.txt', offset: 2, limit: 1 })).toBe(
      '     2\ttwo\n[lines 2–2 of 3: use offset 3 for more]',
    )
    expect(await editor.call('read_file', { path: 'a.txt', offset: 9 })).toContain('has only 3 lines')
    editor.type(at('a.txt'), '')
    expect(await editor.call('read_file', { path: 'a.txt' })).toBe('[the file is empty]')
  })

  test('passes the path without links, by the name under which the editor opened the folder', async () => {
    kit.put({ 'src/a.txt': 'x\n' })
    symlinkSync('src', at('link'))
    const alias = join(kit.outside, 'alias')
    symlinkSync(kit.root, alias)
    const editor = open({ roots: ['/nowhere', alias] })
    expect(await editor.call('read_file', { path: 'link/a.txt' })).toBe('     1\tx')
    expect(editor.asked).toEqual([`read ${join(alias, 'src/a.txt')}`])
  })

  test('leaves images and other binary files to the disk', async () => {
    kit.put({ 'a.bin': new Uint8Array([0, 1, 2]), 'a.pdf': '%PDF-1.7' })
    const editor = open()
    expect(await editor.call('read_file', { path: 'a.bin' })).toContain('a binary file')
    expect(await editor.call('read_file', { path: 'a.pdf' })).toContain('a PDF document')
    expect(editor.asked).toEqual([])
  })

  test('leaves text of other encodings to the disk, also for edits', async () => {
    const utf16 = Buffer.from('\ufeffone\n', 'utf16le')
    kit.put({ 'a.txt': utf16, 'b.txt': Buffer.from('caf\xe9\n', 'latin1') })
    const editor = open()
    expect(await editor.call('read_file', { path: 'a.txt' })).toBe('     1\tone')
    await editor.call('edit_file', { path: 'a.txt', old_text: 'one', new_text: 'two' })
    expect(readFileSync(at('a.txt'), 'utf16le')).toBe('\ufefftwo\n')
    expect(editor.asked).toEqual([])
    for (const [name, input] of [
      ['read_file', { path: 'b.txt' }],
      ['edit_file', { path: 'b.txt', old_text: 'caf', new_text: 'x' }],
    ] as const)
      expect(await editor.call(name, input)).toContain('not valid UTF-8 text')
  })

  test('does not show a byte order mark, and an edit keeps it', async () => {
    kit.put({ 'a.txt': '\ufeffone\n' })
    const editor = open()
    expect(await editor.call('read_file', { path: 'a.txt' })).toBe('     1\tone')
    await editor.call('edit_file', { path: 'a.txt', old_text: 'one', new_text: 'two' })
    expect(onDisk('a.txt')).toBe('\ufefftwo\n')
  })

  test('leaves files that are very large to the disk', async () => {
    kit.put({ 'a.txt': `${'x'.repeat(99)}\n`.repeat(100_000) })
    const editor = open()
    expect(await editor.call('read_file', { path: 'a.txt', limit: 1 })).toContain('     1\txxx')
    expect(editor.asked).toEqual([])
  })

  test.each([
    ['an editor that cannot read', { offers: { readTextFile: undefined } }],
    ['an editor with another folder', { roots: ['/nowhere'] }],
    ['an editor with a folder whose name only begins alike', { roots: ['/tmp/millrace-fil'] }],
  ])('with %s reads from disk', async (_, options) => {
    kit.put({ 'a.txt': 'saved\n' })
    const editor = open(options)
    editor.type(at('a.txt'), 'not saved')
    expect(await editor.call('read_file', { path: 'a.txt' })).toBe('     1\tsaved')
  })

  test('reads from disk once the editor is gone, and in other threads', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    const [editor, other] = [open(), open()]
    editor.type(at('a.txt'), 'not saved')
    expect(await other.call('read_file', { path: 'a.txt' })).toBe('     1\tsaved')
    editor.close()
    expect(await editor.call('read_file', { path: 'a.txt' })).toBe('     1\tsaved')
  })

  test('says what the editor reported, and does not read another text instead', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    const readTextFile = async () => {
      throw new Error('the buffer is locked')
    }
    const editor = open({ offers: { readTextFile } })
    const failed = "The tool failed: The editor could not read 'a.txt': the buffer is locked."
    expect(await editor.call('read_file', { path: 'a.txt' })).toBe(failed)
    expect(await editor.call('edit_file', { path: 'a.txt', old_text: 'saved', new_text: 'x' })).toBe(failed)
    expect(onDisk('a.txt')).toBe('saved\n')
  })

  test('of an editor that does not answer ends with the call', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    const editor = open({ offers: { readTextFile: () => new Promise(() => {}) } })
    const controller = new AbortController()
    const reading = editor.call('read_file', { path: 'a.txt' }, { signal: controller.signal })
    controller.abort(new Error('enough'))
    expect(await reading).toBe('The tool failed: enough')
  })
})

describe('editing', () => {
  test('changes what is not saved yet', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    const editor = open()
    editor.type(at('a.txt'), 'one\ntwo\n')
    const progress: unknown[] = []
    const input = { path: 'a.txt', old_text: 'two', new_text: 'TWO' }
    expect(
      await editor.call('edit_file', input, { progress: (data: unknown) => void progress.push(data) }),
    ).toContain('+    2\tTWO')
    expect(onDisk('a.txt')).toBe('one\nTWO\n')
    expect(editor.unsaved(at('a.txt'))).toBeUndefined()
    expect(progress).toEqual([{ display: { locations: [{ path: at('a.txt'), line: 2 }] } }])
  })

  test('of text that is only on disk fails', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    const editor = open()
    editor.type(at('a.txt'), 'typed\n')
    const input = { path: 'a.txt', old_text: 'saved', new_text: 'x' }
    expect(await editor.call('edit_file', input)).toContain('The tool failed')
    expect([onDisk('a.txt'), editor.unsaved(at('a.txt'))]).toEqual(['saved\n', 'typed\n'])
  })

  test('two edits of a round both count', async () => {
    kit.put({ 'a.txt': 'one\ntwo\n' })
    const editor = open()
    await Promise.all(
      ['one', 'two'].map((text) =>
        editor.call('edit_file', { path: 'a.txt', old_text: text, new_text: text.toUpperCase() }),
      ),
    )
    expect(onDisk('a.txt')).toBe('ONE\nTWO\n')
  })

  test.each(['readTextFile', 'writeTextFile'])(
    'without %s of the editor happens on disk',
    async (missing) => {
      kit.put({ 'a.txt': 'saved\n' })
      const editor = open({ offers: { [missing]: undefined } })
      await editor.call('edit_file', { path: 'a.txt', old_text: 'saved', new_text: 'edited' })
      expect(onDisk('a.txt')).toBe('edited\n')
      expect(editor.asked).toEqual([])
    },
  )
})

describe('writing', () => {
  test('goes through the editor, into folders that are created', async () => {
    const editor = open()
    expect(await editor.call('write_file', { path: 'new/folder/a.txt', content: 'x\n' })).toBe(
      'Wrote 1 line (2 bytes) to new/folder/a.txt (new file).',
    )
    expect(onDisk('new/folder/a.txt')).toBe('x\n')
    expect(editor.asked).toEqual([`write ${at('new/folder/a.txt')}`])
  })

  test('says what the editor reported, and does not write on disk instead', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    const writeTextFile = async () => {
      throw new Error('the user refused')
    }
    const editor = open({ offers: { writeTextFile } })
    expect(await editor.call('write_file', { path: 'a.txt', content: 'x' })).toBe(
      "The tool failed: The editor could not write 'a.txt': the user refused.",
    )
    expect(onDisk('a.txt')).toBe('saved\n')
  })

  test.skipIf(process.getuid?.() === 0)('never reaches a read-only file', async () => {
    kit.put({ 'a.txt': 'saved\n' })
    chmodSync(at('a.txt'), 0o444)
    const editor = open()
    expect(await editor.call('write_file', { path: 'a.txt', content: 'x' })).toContain('permission denied')
    expect(editor.asked).toEqual([])
  })
})

describe('confinement', () => {
  const secret = () => join(kit.outside, 'secret.txt')
  const calls = (path: string) =>
    [
      ['read_file', { path }],
      ['write_file', { path, content: 'overwritten' }],
      ['edit_file', { path, old_text: 'SECRET-7', new_text: 'overwritten' }],
    ] as const

  beforeEach(() => {
    writeFileSync(secret(), 'SECRET-7\n')
    kit.put({ 'a.txt': 'inside\n' })
    symlinkSync(secret(), at('file-link'))
    symlinkSync('../outside', at('folder-link'))
    symlinkSync('../outside/new.txt', at('dangling'))
  })

  test.each([
    'file-link',
    'folder-link/secret.txt',
    'dangling',
    '../outside/secret.txt',
    '/etc/passwd',
    'a.txt/../../outside/secret.txt',
  ])('the editor is never asked about %s', async (path) => {
    // Also an editor that has the whole machine open.
    const editor = open({ roots: ['/'] })
    for (const [name, input] of calls(path))
      expect(await editor.call(name, input)).toContain('The tool failed')
    expect(editor.asked).toEqual([])
    expect([readFileSync(secret(), 'utf8'), existsSync(join(kit.outside, 'new.txt'))]).toEqual([
      'SECRET-7\n',
      false,
    ])
  })

  test('nor about a file that the rules deny, whatever it is called by', async () => {
    kit.put({ '.env': 'secret\n' })
    symlinkSync('.env', at('harmless.txt'))
    const editor = open()
    const checkAccess = async ({ path }: { path?: string }) =>
      path === '.env' ? 'the rules deny it' : undefined
    for (const path of ['.env', 'harmless.txt'])
      for (const [name, input] of calls(path))
        expect(await editor.call(name, input, { checkAccess })).toContain('the rules deny it')
    expect(editor.asked).toEqual([])
  })

  test('what is read after the folder became a link is not returned', async () => {
    kit.put({ 'src/secret.txt': 'inside\n' })
    const readTextFile = async (path: string) => {
      renameSync(at('src'), at('moved'))
      symlinkSync('../outside', at('src'))
      return readFileSync(path, 'utf8')
    }
    const editor = open({ offers: { readTextFile } })
    const said = await editor.call('read_file', { path: 'src/secret.txt' })
    expect(said).toContain("'src/secret.txt' is outside the workspace")
    expect(said).not.toContain('SECRET-7')
  })

  test('a write after the folder became a link inside the workspace is reported', async () => {
    kit.put({ 'src/a.txt': 'x\n', 'other/a.txt': 'x\n' })
    const writeTextFile = async () => {
      renameSync(at('src'), at('moved'))
      symlinkSync('other', at('src'))
    }
    const editor = open({ offers: { writeTextFile } })
    expect(await editor.call('write_file', { path: 'src/a.txt', content: 'y' })).toContain(
      "'src/a.txt' was changed by another process at the same time",
    )
  })

  test('a file that became a folder is reported', async () => {
    mkdirSync(at('folder'))
    const editor = open()
    expect(await editor.call('write_file', { path: 'folder', content: 'y' })).toContain('is a folder')
    expect(editor.asked).toEqual([])
  })
})
