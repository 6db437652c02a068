import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { filesKit } from './files.test-kit.ts'

let kit: ReturnType<typeof filesKit>
beforeEach(() => {
  kit = filesKit()
})
afterEach(() => kit.remove())

const edit = (input: Record<string, unknown>) => kit.call('edit_file', { path: 'a.ts', ...input })
const text = () => readFileSync(join(kit.root, 'a.ts'), 'utf8')

describe('an edit', () => {
  test('replaces the text and returns the changed lines', async () => {
    kit.put({ 'a.ts': 'one\ntwo\nthree\nfour\n' })
    expect(await edit({ old_text: 'two\nthree', new_text: 'TWO\n2.5\nTHREE' })).toBe(
      [
        'Edited a.ts: 1 replacement.',
        '     1\tone',
        '+    2\tTWO',
        '+    3\t2.5',
        '+    4\tTHREE',
        '     5\tfour',
      ].join('\n'),
    )
    expect(text()).toBe('one\nTWO\n2.5\nTHREE\nfour\n')
  })

  test('inserts the new text literally', async () => {
    kit.put({ 'a.ts': 'price: X\n' })
    await edit({ old_text: 'X', new_text: "$& $1 $$ $'" })
    expect(text()).toBe("price: $& $1 $$ $'\n")
  })

  test('can delete text, at the start and at the end', async () => {
    kit.put({ 'a.ts': 'one\ntwo\n' })
    expect(await edit({ old_text: 'one\n', new_text: '' })).toBe('Edited a.ts: 1 replacement.\n     1\ttwo')
    await edit({ old_text: 'two\n', new_text: '' })
    expect(text()).toBe('')
  })

  test('with replace_all returns some of the changes', async () => {
    kit.put({ 'a.ts': `${'x\n'.repeat(3)}y\n${'z\n'.repeat(4)}x\n` })
    expect(await edit({ old_text: 'x', new_text: 'w', replace_all: true })).toBe(
      [
        'Edited a.ts: 4 replacements.',
        '+    1\tw',
        '+    2\tw',
        '+    3\tw',
        '     4\ty',
        '   ...',
        '     8\tz',
        '+    9\tw',
      ].join('\n'),
    )
    writeFileSync(join(kit.root, 'a.ts'), 'x\n'.repeat(1000))
    const said = await edit({ old_text: 'x', new_text: 'w', replace_all: true })
    expect(said.split('\n').length).toBeLessThanOrEqual(22)
    expect(said).toMatch(/1000 replacements.*\.\.\. and more$/s)
  })

  test('with several edits applies them in order, all or none', async () => {
    kit.put({ 'a.ts': 'one\ntwo\nthree\n' })
    const edits = [
      { old_text: 'three', new_text: '3' },
      { old_text: 'one', new_text: 'zero\n1' },
    ]
    expect(await edit({ edits })).toBe(
      'Edited a.ts: 2 replacements.\n+    1\tzero\n+    2\t1\n     3\ttwo\n+    4\t3',
    )
    expect(await edit({ edits: [{ old_text: '3', new_text: '4' }, ...edits] })).toMatch(
      /^The tool failed: Nothing was changed, because edit 2 failed: old_text is not in the file/,
    )
    expect(text()).toBe('zero\n1\ntwo\n3\n')
  })

  test('keeps line endings, BOM and encoding of the file', async () => {
    kit.put({ 'a.ts': '\ufeffone\r\ntwo\r\nthree\r\n' })
    await edit({ old_text: 'one\ntwo', new_text: '1\n2\n2.5' })
    await edit({ old_text: 'three', new_text: '3\n4' })
    expect(text()).toBe('\ufeff1\r\n2\r\n2.5\r\n3\r\n4\r\n')
    writeFileSync(join(kit.root, 'a.ts'), Buffer.from('\ufeffgroß\r\n', 'utf16le').swap16())
    await edit({ old_text: 'groß', new_text: 'klein' })
    expect(readFileSync(join(kit.root, 'a.ts')).swap16().toString('utf16le')).toBe('\ufeffklein\r\n')
  })

  test('finds text with other line endings in a file with both', async () => {
    kit.put({ 'a.ts': 'a\nb\r\nc\r\nd\n' })
    await edit({ old_text: 'b\nc', new_text: 'B\nC' })
    expect(text()).toBe('a\nB\r\nC\r\nd\n')
    await edit({ old_text: 'C\r\nd', new_text: 'X' })
    expect(await edit({ old_text: 'a\r\nB', new_text: 'Y' })).toMatch(/^Edited/)
  })

  test('and another one in the same round are both applied, also from two toolboxes', async () => {
    kit.put({ 'a.ts': Array.from({ length: 20 }, (_, index) => `line ${index}.\n`).join('') })
    const said = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        edit({ old_text: `line ${index}.`, new_text: `done ${index}.` }),
      ),
    )
    expect(said.filter((one) => !one.startsWith('Edited'))).toEqual([])
    expect(text().match(/done/g)).toHaveLength(20)
  })
})

describe('a failed edit explains why', () => {
  const failed = async (content: string, old_text: string, new_text = 'new') => {
    kit.put({ 'a.ts': content })
    const said = await edit({ old_text, new_text })
    expect(text()).toBe(content)
    return said.replace(/^The tool failed: /, '')
  }

  test('the text occurs more than once', async () => {
    expect(await failed('x = 1\ny\nx = 1\n', 'x = 1')).toBe(
      'old_text occurs 2 times, at lines 1, 3: include more of the surrounding lines to make it unique, or set replace_all.',
    )
    expect(await failed('x\n'.repeat(50), 'x')).toMatch(/50 times, at lines 1, 2, .*10, …:/)
  })

  test('the indentation differs', async () => {
    const content = 'function f() {\n\tif (a) {\n\t\treturn  1\n\t}\n}\n'
    expect(await failed(content, '  if (a) {\n    return 1\n  }')).toBe(
      'old_text is in the file only with different spaces, tabs or line breaks. The lines are:\n' +
        '     2\t\tif (a) {\n     3\t\t\treturn  1\n     4\t\t}',
    )
  })

  test('the text contains the line numbers of read_file', async () => {
    expect(await failed('one\ntwo\n', '     1\tone\n     2\ttwo')).toBe(
      'old_text is not in the file: remove the line numbers and tabs that read_file adds.',
    )
  })

  test('the edit has already been made', async () => {
    expect(await failed('const a = 2\n', 'const a = 1', 'const a = 2')).toBe(
      'old_text is not in the file, but new_text is: the edit may already have been made.',
    )
  })

  test('but not that it was already made, if the new text may occur by chance', async () => {
    const words = 'old_text is not in the file: read the file to see what is there.'
    expect(await failed('export const a = 1\n', 'const quite = other', 'x')).toBe(words)
    expect(
      await failed('import a from "a"\n', 'import a from "a"\nzzz(1, 2)\nqqq()', 'import a from "a"'),
    ).not.toMatch(/may already/)
  })

  test('there is similar text', async () => {
    const content = `${'filler\n'.repeat(30)}const total = items.reduce(sum, 0)\nreturn total\n`
    expect(await failed(content, 'const total = items.reduce(add, 0)\nreturn total')).toBe(
      'old_text is not in the file. The most similar lines are:\n' +
        '    31\tconst total = items.reduce(sum, 0)\n    32\treturn total\n' +
        'Read the file to see what is there.',
    )
  })

  test('there is no similar text', async () => {
    const sentence = 'old_text is not in the file: read the file to see what is there.'
    expect(await failed('one\ntwo\n', 'completely different')).toBe(sentence)
    // Too large to look for similar text.
    expect(await failed(`${'const total = 1\n'.repeat(70_000)}`, 'const totel = 1')).toBe(sentence)
  })

  test('similar text is found for very many lines', async () => {
    const content = Array.from({ length: 20_000 }, (_, index) => `line number ${index}\n`).join('')
    expect(await failed(content, content.replace('19999', '20000'))).toMatch(/most similar lines/)
  })

  test('the input is invalid', async () => {
    expect(await failed('x\n', '')).toMatch(/old_text is empty/)
    expect(await failed('x\n', 'x', 'x')).toMatch(/are the same/)
    expect(await edit({ old_text: 'x' })).toMatch(/Pass both old_text and new_text/)
    expect(await edit({ old_text: 'x', new_text: 'y', edits: [{ old_text: 'x', new_text: 'y' }] })).toMatch(
      /not both/,
    )
    expect(await edit({ old: 'x', new: 'y' })).toMatch(/^Not run/)
  })

  test('the file cannot be edited', async () => {
    kit.put({ 'bin.dat': 'a\0b', 'latin.txt': Buffer.from('caf\xe9', 'latin1'), 'src/x.ts': '' })
    const at = (path: string) => kit.call('edit_file', { path, old_text: 'a', new_text: 'b' })
    expect(await at('bin.dat')).toMatch(/'bin\.dat' is a binary file/)
    expect(await at('latin.txt')).toMatch(/'latin\.txt' is not valid UTF-8 text/)
    expect(await at('src')).toMatch(/'src' is a folder, not a regular file/)
    expect(await at('src/y.ts')).toBe(
      "The tool failed: There is no file 'src/y.ts' to edit; similar names in 'src': 'x.ts'. Use write_file to create a file.",
    )
  })

  test('another process changes the file meanwhile', async () => {
    kit.put({ 'a.ts': 'one\n' })
    const checkAccess = async () => {
      writeFileSync(join(kit.root, 'a.ts'), 'one, and more\n')
      return undefined
    }
    // Called after the file is opened and before it is read.
    const said = await kit.call(
      'edit_file',
      { path: 'a.ts', old_text: 'one', new_text: '1' },
      {},
      { checkAccess },
    )
    expect(said).toBe(
      "The tool failed: 'a.ts' was changed by another process during the edit: read it again first.",
    )
    expect(text()).toBe('one, and more\n')
  })

  test('the rules do not allow reading or writing', async () => {
    kit.put({ 'a.ts': 'one\n' })
    for (const denied of ['read', 'write']) {
      const checkAccess = async ({ kind }: { kind: string }) =>
        kind === denied ? 'a rule says so' : undefined
      const input = { path: 'a.ts', old_text: 'one', new_text: '1' }
      expect(await kit.call('edit_file', input, {}, { checkAccess: checkAccess as never })).toMatch(
        /^The tool failed: 'a\.ts' may not be (read|written): a rule says so\.$/,
      )
    }
    expect(text()).toBe('one\n')
  })
})
