import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { loadDriver } from './driver.ts'

afterEach(() => vi.restoreAllMocks())

describe('loading node:sqlite', () => {
  it('suppresses the warning that it is experimental, and no other', () => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    // As Node 22 loads it, with another warning at the same time.
    vi.spyOn(process, 'getBuiltinModule').mockImplementation((() => {
      process.emitWarning(
        'SQLite is an experimental feature and might change at any time',
        'ExperimentalWarning',
      )
      process.emitWarning('Something else is', 'ExperimentalWarning')
      return { DatabaseSync }
    }) as never)
    expect(loadDriver()).toBe(DatabaseSync)
    expect(emitWarning.mock.calls).toEqual([['Something else is', 'ExperimentalWarning']])
    process.emitWarning('SQLite is an experimental feature, later')
    expect(emitWarning).toHaveBeenCalledTimes(2)
  })
})
