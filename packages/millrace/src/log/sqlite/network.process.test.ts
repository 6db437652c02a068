import fs, { readdirSync, type StatsFs } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../sqlite.ts'
import { temporaryFolder } from './sqlite.test-kit.ts'

// Test machines have no server to mount from, so the system call is mocked to report NFS.
beforeAll(() => {
  vi.spyOn(fs, 'statfsSync').mockReturnValue({ type: 0x6969 } as StatsFs)
  syncBuiltinESMExports()
})
afterAll(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

const folder = temporaryFolder()

describe.runIf(process.platform === 'linux')('a network filesystem', () => {
  it('is rejected before anything is written there', () => {
    expect(() => sqliteStore(join(folder, 'threads.db'))).toThrow(
      expect.objectContaining({
        code: 'store_error',
        message: expect.stringMatching(/is on a network filesystem \(NFS\).*or set allowNetworkFilesystem/),
      }),
    )
    expect(readdirSync(folder)).toEqual([])
  })

  it('can be allowed explicitly', async () => {
    const store = sqliteStore(join(folder, 'threads.db'), { allowNetworkFilesystem: true })
    expect(await store.create({ id: 't', agent: 'a' })).toBe(true)
    await store.close()
  })
})
