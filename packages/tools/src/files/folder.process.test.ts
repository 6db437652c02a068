import { constants, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { filesKit } from './files.test-kit.ts'
import { canHold, type Folder, openRoot } from './folder.ts'

let kit: ReturnType<typeof filesKit>
let folder: Folder

/** Replaces a folder with a link between finding and using it. */
function swap() {
  renameSync(join(kit.root, 'spot'), join(kit.root, 'away'))
  symlinkSync(kit.outside, join(kit.root, 'spot'))
}

async function arrive(hold: boolean) {
  const root = await openRoot(kit.root, hold)
  folder = await root.open('spot')
  await root.close()
}

beforeEach(() => {
  kit = filesKit()
  kit.put({ 'spot/file.txt': 'inside', 'spot/below/deep.txt': 'inside' })
  writeFileSync(join(kit.outside, 'file.txt'), 'SECRET')
  mkdirSync(join(kit.outside, 'below'))
})
afterEach(async () => {
  await folder.close()
  kit.remove()
})

describe.runIf(canHold)('a folder with an open handle', () => {
  beforeEach(() => arrive(true))

  test('stays the same when it is renamed and replaced with a link', async () => {
    swap()
    const file = await folder.openFile('file.txt', constants.O_RDONLY)
    expect(await file.readFile('utf8')).toBe('inside')
    await file.close()
    const below = await folder.open('below')
    const deep = await below.openFile('deep.txt', constants.O_RDONLY)
    expect(await deep.readFile('utf8')).toBe('inside')
    await deep.close()
    await below.close()
    expect(readFileSync(`${folder.at}/file.txt`, 'utf8')).toBe('inside')
  })
})

describe('a folder with checks', () => {
  beforeEach(() => arrive(false))

  test('rejects access once it is replaced with a link', async () => {
    swap()
    await expect(folder.openFile('file.txt', constants.O_RDONLY)).rejects.toThrow(
      /changed by another process/,
    )
    await expect(folder.open('below')).rejects.toThrow(/changed by another process/)
    await expect(folder.check()).rejects.toThrow(/changed by another process/)
  })
})

test.each([true, false])('links directly in a folder are not followed (held: %s)', async (hold) => {
  await arrive(hold && canHold)
  symlinkSync(join(kit.outside, 'file.txt'), join(kit.root, 'spot', 'link.txt'))
  symlinkSync(kit.outside, join(kit.root, 'spot', 'link'))
  await expect(folder.openFile('link.txt', constants.O_RDONLY)).rejects.toThrow(/ELOOP/)
  await expect(folder.open('link')).rejects.toThrow(/ENOTDIR|ELOOP|changed/)
})
