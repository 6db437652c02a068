import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { beside, filesKit } from './files.test-kit.ts'
import { canHold } from './folder.ts'

const secret = 'SECRET-7'
// Of several calls each.
const rounds = 250

/** Until both outcomes were seen, within reason: on a busy machine the other process may not come to it for a while. */
function goesOn(round: number, outcomes: number): boolean {
  return round < rounds || (outcomes < 2 && round < 8 * rounds)
}

let kit: ReturnType<typeof filesKit>

beforeEach(() => {
  kit = filesKit()
  writeFileSync(join(kit.outside, 'file.txt'), `${secret}\n`)
  kit.put({ 'real/file.txt': 'inside\n' })
})
afterEach(() => kit.remove())

/** Puts now a file, now a link to the secret at `spot`, as fast as it can. */
const swapFile = `
import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
const [, root, outside] = process.argv
process.stdout.write('begun\\n')
for (;;) {
  symlinkSync(outside + '/file.txt', root + '/next-link')
  renameSync(root + '/next-link', root + '/spot')
  writeFileSync(root + '/next-file', 'inside\\n')
  renameSync(root + '/next-file', root + '/spot')
}`

/** Takes the folder `spot` away and puts a link to the one outside in its place, and back. */
const swapFolder = `
import { renameSync, rmSync, symlinkSync } from 'node:fs'
const [, root, outside] = process.argv
process.stdout.write('begun\\n')
for (;;) {
  renameSync(root + '/spot', root + '/away')
  try { symlinkSync(outside, root + '/spot') } catch {}
  try {
    rmSync(root + '/spot', { recursive: true, force: true })
    renameSync(root + '/away', root + '/spot')
  } catch {
    // Somebody has made a folder of that name meanwhile, and something in it.
    rmSync(root + '/away', { recursive: true, force: true })
  }
}`

const calls: [string, (path: string) => Record<string, unknown>][] = [
  ['read_file', (path) => ({ path })],
  ['write_file', (path) => ({ path, content: 'inside\n' })],
  ['edit_file', (path) => ({ path, old_text: 'inside', new_text: 'edited' })],
  ['edit_file', (path) => ({ path, old_text: 'SECRET', new_text: 'edited' })],
]

// The other way cannot rule out every moment for what is written, only for what is read.
describe.runIf(canHold)('somebody swaps files and links all the time', () => {
  test('a link put in place of a file never leads out', async () => {
    kit.put({ spot: 'inside\n' })
    const seen = new Set<string>()
    await beside(swapFile, [kit.root, kit.outside], async () => {
      for (let round = 0; goesOn(round, seen.size); round++) {
        for (const [name, input] of calls) {
          const answer = await kit.call(name, input('spot'))
          expect(answer).not.toContain(secret)
          if (name === 'read_file') seen.add(answer.startsWith('The tool failed') ? 'refused' : 'read')
        }
      }
    })
    expect(readFileSync(join(kit.outside, 'file.txt'), 'utf8')).toBe(`${secret}\n`)
    expect(readdirSync(kit.outside)).toEqual(['file.txt'])
  })

  test('a link put in place of a folder never leads out', async () => {
    mkdirSync(join(kit.root, 'spot'))
    kit.put({ 'spot/file.txt': 'inside\n' })
    const seen = new Set<string>()
    await beside(swapFolder, [kit.root, kit.outside], async () => {
      for (let round = 0; goesOn(round, seen.size); round++) {
        for (const [name, input] of calls) {
          const answer = await kit.call(name, input('spot/file.txt'))
          expect(answer).not.toContain(secret)
          if (name === 'read_file') seen.add(answer.startsWith('The tool failed') ? 'refused' : 'read')
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
  ] as const)('what %s comes upon behind such a link is not shown', async (_, ripgrep) => {
    writeFileSync(join(kit.outside, 'only-outside.txt'), secret)
    kit.put({ 'spot/file.txt': 'inside\n' })
    await beside(swapFolder, [kit.root, kit.outside], async () => {
      for (let round = 0; round < 25; round++) {
        const found = await kit.call('find_files', { pattern: '*' }, { ripgrep })
        expect(found).not.toContain('only-outside')
        const lines = await kit.call('search_files', { pattern: 'SECRET|inside', path: 'spot' }, { ripgrep })
        expect(lines).not.toContain(secret)
        expect(await kit.call('list_files', { depth: 3 })).not.toContain('only-outside')
      }
    })
  })

  test('a link put in place of the unfinished file is not written through', async () => {
    const replaceUnfinished = `
      import { readdirSync, renameSync, symlinkSync } from 'node:fs'
      const [, root, outside] = process.argv
      process.stdout.write('begun\\n')
      for (let n = 0; ; n++) {
        for (const name of readdirSync(root)) {
          if (!name.endsWith('.tmp')) continue
          symlinkSync(outside + '/file.txt', root + '/link-' + n)
          try { renameSync(root + '/link-' + n, root + '/' + name) } catch {}
        }
      }`
    const answers = new Set<string>()
    await beside(replaceUnfinished, [kit.root, kit.outside], async () => {
      for (let round = 0; goesOn(round, answers.size); round++)
        answers.add(
          await kit
            .call('write_file', { path: `${round}.txt`, content: 'OWNED' })
            .then((said) => said.replace(/\d+\.txt/, 'it')),
        )
    })
    expect(readFileSync(join(kit.outside, 'file.txt'), 'utf8')).toBe(`${secret}\n`)
    expect([...answers].sort()).toEqual([
      "The tool failed: 'it' was replaced by somebody else in the moment it was written: read it again.",
      'Wrote 1 line (5 bytes) to it (new file).',
    ])
  })
})

test('without handles, what is read behind a swapped link is not shown', async () => {
  kit.put({ 'spot/file.txt': 'inside\n' })
  await beside(swapFolder, [kit.root, kit.outside], async () => {
    for (let round = 0; round < rounds; round++)
      expect(await kit.call('read_file', { path: 'spot/file.txt' }, { hold: false })).not.toContain(secret)
  })
})

test('whoever reads while a file is written sees the old one or the new one, whole', async () => {
  const size = 2 ** 20
  kit.put({ 'big.txt': 'a'.repeat(size) })
  const readAlways = `
    import { readFileSync, writeFileSync } from 'node:fs'
    const [, root] = process.argv
    process.stdout.write('begun\\n')
    for (let reads = 1; ; reads++) {
      const text = readFileSync(root + '/big.txt', 'latin1')
      if (text.length !== ${size} || text !== text[0].repeat(text.length)) writeFileSync(root + '/fault', text.slice(0, 100))
      if (reads % 10 === 0) writeFileSync(root + '/reads', String(reads))
    }`
  await beside(readAlways, [kit.root], async () => {
    const before = () => Number(readFileSync(join(kit.root, 'reads'), 'utf8'))
    await expect.poll(() => readdirSync(kit.root)).toContain('reads')
    const start = before()
    for (let round = 0; round < 40 || (round < 400 && before() < start + 50); round++)
      await kit.call('write_file', { path: 'big.txt', content: 'abcdefghij'.charAt(round % 10).repeat(size) })
  })
  expect(readdirSync(kit.root)).not.toContain('fault')
  expect(readdirSync(kit.root).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

test('a writer that is killed leaves the old file, whole', async () => {
  kit.put({ 'a.txt': 'old\n' })
  symlinkSync('a.txt', join(kit.root, 'link'))
  // Stopped by its signal in the last moment before the file is put in place.
  const controller = new AbortController()
  const permits = async () => {
    controller.abort(new Error('cancelled'))
    return undefined
  }
  const said = await kit.call(
    'write_file',
    { path: 'link', content: 'new\n' },
    {},
    { permits, signal: controller.signal },
  )
  expect(said).toBe('The tool failed: cancelled')
  expect(readFileSync(join(kit.root, 'a.txt'), 'utf8')).toBe('old\n')
  expect(readdirSync(kit.root).sort()).toEqual(['a.txt', 'link', 'real'])
})
