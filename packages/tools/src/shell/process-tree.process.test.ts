import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type ProcessEntry, type ProcessTable, processTable, psTable } from './process-table.ts'
import { processTree } from './process-tree.ts'
import { until } from './shell.test-kit.ts'

const entry = (pid: number, given: Partial<ProcessEntry> = {}): ProcessEntry => ({
  ...{ pid, parent: 1, group: pid, session: pid, started: '100', name: 'sh' },
  ...given,
})
const table = (entries: readonly ProcessEntry[], marked: readonly number[] = []): ProcessTable => ({
  list: async () => [...entries],
  startOf: () => '100',
  isThere: () => true,
  hasInEnvironment: (pid) => marked.includes(pid),
})

const hasPs = ['/bin/ps', '/usr/bin/ps'].some((path) => existsSync(path))

describe.each([['this system', processTable] as const, ...(hasPs ? [['ps', psTable] as const] : [])])(
  'with the process table of %s',
  (_, table) => {
    test('a group with children is found and ended', async () => {
      const child = spawn('sh', ['-c', 'sleep 1000 & sleep 1000 & wait'], { detached: true, stdio: 'ignore' })
      const exited = once(child, 'exit')
      const tree = processTree({ leader: child.pid ?? 0, marker: 'none' }, table)
      await until(async () => (await tree.living()).length === 3)
      expect(await tree.end({ graceMs: 10_000 })).toBe(3)
      await exited
      expect(await tree.living()).toEqual([])
    })

    test('this process and its parent are listed', async () => {
      const entries = await table.list()
      const own = entries.find(({ pid }) => pid === process.pid)
      expect(own).toMatchObject({ parent: process.ppid })
      expect(own && table.isThere(own)).toBe(true)
    })
  },
)

describe('a process tree with patience', () => {
  test('lets processes end on their own, and does not count them', async () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
    const about = { ...entry(child.pid ?? 0), group: 7 }
    const lists = [[about], [about]]
    const tree = processTree(
      { leader: 7, marker: 'm' },
      { ...table([]), list: async () => lists.shift() ?? [] },
    )
    expect(await tree.end({ graceMs: 10_000, patienceMs: 10_000 })).toBe(0)
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    expect(await exited).toEqual([null, 'SIGKILL'])
  })
})

test('processes in the cgroup belong to the tree, even if they started during the listing', async () => {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const cgroup = {
    pids: () => new Set(child.signalCode === null ? [child.pid ?? 0] : []),
    around: (file: string) => ({ file, args: [] }),
    kill: () => {},
    remove: async () => {},
  }
  let looks = 0
  const list = async () => (looks++ === 0 ? [] : processTable.list())
  // No process has this pid or this marker.
  const tree = processTree({ leader: 2 ** 30, marker: randomUUID(), cgroup }, { ...processTable, list })
  expect(await tree.end({ graceMs: 10_000 })).toBe(1)
  expect(await exited).toEqual([null, 'SIGTERM'])
})

describe('a reused pid', () => {
  const living = async (entries: readonly ProcessEntry[], marked?: readonly number[]) => {
    const found = await processTree({ leader: 7, marker: 'm' }, table(entries, marked)).living()
    return found.map(({ pid }) => pid)
  }

  test('does not add that process or its group to the tree', async () => {
    expect(await living([entry(7), entry(8, { session: 7 })])).toEqual([7, 8])
    expect(await living([entry(7, { started: '999' }), entry(8, { session: 7 })])).toEqual([])
  })

  test('does not hide processes with the marker, or their children', async () => {
    const entries = [entry(7, { started: '999' }), entry(20), entry(21, { parent: 20 }), entry(22)]
    expect(await living(entries, [20])).toEqual([20, 21])
  })

  test('gets no signal, although it was in the tree a moment ago', async () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
    const lists = [[entry(child.pid ?? 0)]]
    const changed = {
      ...table([], [child.pid ?? 0]),
      list: async () => lists.shift() ?? [],
      isThere: () => false,
    }
    await processTree({ leader: 7, marker: 'm' }, changed).end({ graceMs: 10_000 })
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    expect(await exited).toEqual([null, 'SIGKILL'])
  })

  test('is not checked if the process is older than the command', async () => {
    expect(await living([entry(20, { started: '99' })], [20])).toEqual([])
  })
})
