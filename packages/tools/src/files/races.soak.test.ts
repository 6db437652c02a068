import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { filesKit, whileRunning } from './files.test-kit.ts'
import { canHold } from './folder.ts'

const secret = 'SECRET-7'
// Each with several calls.
const rounds = 250

/**
 * Repeats until both outcomes were seen, up to a limit: on a busy machine the other process may be
 * slow.
 */
function continues(round: number, outcomes: number): boolean {
  return round < rounds || (outcomes < 2 && round < 8 * rounds)
}

let kit: ReturnType<typeof filesKit>

beforeEach(() => {
  kit = filesKit()
  writeFileSync(join(kit.outside, 'file.txt'), `${secret}\n`)
  kit.put({ 'real/file.txt': 'inside\n' })
})
afterEach(() => kit.remove())

/** Alternates between a file and a link to the secret at `spot`, as fast as possible. */
const swapFile = `
import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
const [, root, outside] = process.argv
process.stdout.write('started\\n')
for (;;) {
  symlinkSync(outside + '/file.txt', root + '/next-link')
  renameSync(root + '/next-link', root + '/spot')
  writeFileSync(root + '/next-file', 'inside\\n')
  renameSync(root + '/next-file', root + '/spot')
}`

/** Alternates between the folder `spot` and a link to the one outside. */
const swapFolder = `
import { renameSync, rmSync, symlinkSync } from 'node:fs'
const [, root, outside] = process.argv
process.stdout.write('started\\n')
for (;;) {
  renameSync(root + '/spot', root + '/away')
  try { symlinkSync(outside, root + '/spot') } catch {}
  try {
    rmSync(root + '/spot', { recursive: true, force: true })
    renameSync(root + '/away', root + '/spot')
  } catch {
    // A tool has created a folder of that name meanwhile, with content.
    rmSync(root + '/away', { recursive: true, force: true })
  }
}`

const calls: [string, (path: string) => Record<string, unknown>][] = [
  ['read_file', (path) => ({ path })],
  ['write_file', (path) => ({ path, content: 'inside\n' })],
  ['edit_file', (path) => ({ path, old_text: 'inside', new_text: 'edited' })],
  ['edit_file', (path) => ({ path, old_text: 'SECRET', new_text: 'edited' })],
]

// Without handles, races cannot be excluded for writes, only for reads.
describe.runIf(canHold)('while another process swaps files and links', () => {
  test('a link in place of a file never leads out', async () => {
    kit.put({ spot: 'inside\n' })
    const seen = new Set<string>()
    await whileRunning(swapFile, [kit.root, kit.outside], async () => {
      for (let round = 0; continues(round, seen.size); round++) {
        for (const [name, input] of calls) {
          const result = await kit.call(name, input('spot'))
          expect(result).not.toContain(secret)
          if (name === 'read_file') seen.add(result.startsWith('The tool failed') ? 'rejected' : 'read')
        }
      }
    })
    expect(readFileSync(join(kit.outside, 'file.txt'), 'utf8')).toBe(`${secret}\n`)
    expect(readdirSync(kit.outside)).toEqual(['file.txt'])
  })

  test('a link in place of a folder never leads out', async () => {
    mkdirSync(join(kit.root, 'spot'))
    kit.put({ 'spot/file.txt': 'inside\n' })
    const seen = new Set<string>()
    await whileRunning(swapFolder, [kit.root, kit.outside], async () => {
      for (let round = 0; continues(round, seen.size); round++) {
        for (const [name, input] of calls) {
          const result = await kit.call(name, input('spot/file.txt'))
          expect(result).not.toContain(secret)
          if (name === 'read_file') seen.add(result.startsWith('The tool failed') ? 'rejected' : 'read')
        }
        expect(await kit.call('write_file', { path: `spot/${round}`, content: '' })).not.toContain(secret)
      }
    })
    expect(readFileSync(join(kit.outside, 'file.txt'), 'utf8')).toBe(`${secret}\n`)
    expect(readdirSync(kit.outside)).toEqual(['file.txt'])
  })

  test.each([
    ['ripgrep', undefined],
    ['our own walk', false],
  ] as const)('what %s finds behind a link is not returned', async (_, ripgrep) => {
    writeFileSync(join(kit.outside, 'only-outside.txt'), secret)
    kit.put({ 'spot/file.txt': 'inside\n' })
    await whileRunning(swapFolder, [kit.root, kit.outside], async () => {
      for (let round = 0; round < 25; round++) {
        const found = await kit.call('find_files', { pattern: '*' }, { ripgrep })
        expect(found).not.toContain('only-outside')
        const lines = await kit.call('search_files', { pattern: 'SECRET|inside', path: 'spot' }, { ripgrep })
        expect(lines).not.toContain(secret)
        expect(await kit.call('list_files', { depth: 3 })).not.toContain('only-outside')
      }
    })
  })

  test('a link in place of the temporary file is not followed', async () => {
    const replaceUnfinished = `
      import { readdirSync, renameSync, symlinkSync } from 'node:fs'
      const [, root, outside] = process.argv
      process.stdout.write('started\\n')
      for (let n = 0; ; n++) {
        for (const name of readdirSync(root)) {
          if (!name.endsWith('.tmp')) continue
          symlinkSync(outside + '/file.txt', root + '/link-' + n)
          try { renameSync(root + '/link-' + n, root + '/' + name) } catch {}
        }
      }`
    const results = new Set<string>()
    await whileRunning(replaceUnfinished, [kit.root, kit.outside], async () => {
      for (let round = 0; continues(round, results.size); round++)
        results.add(
          await kit
            .call('write_file', { path: `${round}.txt`, content: 'OWNED' })
            .then((said) => said.replace(/\d+\.txt/, 'it')),
        )
    })
    expect(readFileSync(join(kit.outside, 'file.txt'), 'utf8')).toBe(`${secret}\n`)
    expect([...results].sort()).toEqual([
      "The tool failed: 'it' was replaced by another process while it was written: read it again.",
      'Wrote 1 line (5 bytes) to it (new file).',
    ])
  })
})

test('without handles, content behind a swapped link is not returned', async () => {
  kit.put({ 'spot/file.txt': 'inside\n' })
  await whileRunning(swapFolder, [kit.root, kit.outside], async () => {
    for (let round = 0; round < rounds; round++)
      expect(await kit.call('read_file', { path: 'spot/file.txt' }, { hold: false })).not.toContain(secret)
  })
})

test('readers see the complete old or new file during a write', async () => {
  const size = 2 ** 20
  kit.put({ 'big.txt': 'a'.repeat(size) })
  const readAlways = `
    import { readFileSync, writeFileSync } from 'node:fs'
    const [, root] = process.argv
    process.stdout.write('started\\n')
    for (let reads = 1; ; reads++) {
      const text = readFileSync(root + '/big.txt', 'latin1')
      if (text.length !== ${size} || text !== text[0].repeat(text.length)) writeFileSync(root + '/fault', text.slice(0, 100))
      if (reads % 10 === 0) writeFileSync(root + '/reads', String(reads))
    }`
  await whileRunning(readAlways, [kit.root], async () => {
    const before = () => Number(readFileSync(join(kit.root, 'reads'), 'utf8'))
    await expect.poll(() => readdirSync(kit.root)).toContain('reads')
    const start = before()
    for (let round = 0; round < 40 || (round < 400 && before() < start + 50); round++)
      await kit.call('write_file', { path: 'big.txt', content: 'abcdefghij'.charAt(round % 10).repeat(size) })
  })
  expect(readdirSync(kit.root)).not.toContain('fault')
  expect(readdirSync(kit.root).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

test('a killed writer leaves the old file intact', async () => {
  kit.put({ 'a.txt': 'old\n' })
  symlinkSync('a.txt', join(kit.root, 'link'))
  // Aborted just before the file is renamed.
  const controller = new AbortController()
  const checkAccess = async () => {
    controller.abort(new Error('canceled'))
    return undefined
  }
  const said = await kit.call(
    'write_file',
    { path: 'link', content: 'new\n' },
    {},
    { checkAccess, signal: controller.signal },
  )
  expect(said).toBe('The tool failed: canceled')
  expect(readFileSync(join(kit.root, 'a.txt'), 'utf8')).toBe('old\n')
  expect(readdirSync(kit.root).sort()).toEqual(['a.txt', 'link', 'real'])
})
