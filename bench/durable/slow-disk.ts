import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cache } from '../harness/write.ts'
import type { Scenario } from './scenario.ts'
import { steady } from './steady.ts'

const slowerMs = 5

/** Sleeps before each sync. Only the C library is asked to sync, by SQLite too. */
const source = `
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>
int fsync(int fd) { usleep(${slowerMs * 1000}); return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { usleep(${slowerMs * 1000}); return syscall(SYS_fdatasync, fd); }
`

/** Throws if this machine has no C compiler, or loads no libraries in advance. */
function slowSyncs(): NodeJS.ProcessEnv {
  mkdirSync(cache, { recursive: true })
  const [from, to] = [join(cache, 'slow-sync.c'), join(cache, 'slow-sync.so')]
  writeFileSync(from, source)
  if (spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', to, from]).status !== 0)
    throw new Error('there is no C compiler for the slow disk')
  const env = { LD_PRELOAD: to }
  const syncs = `const fs = require('fs'); const fd = fs.openSync(${JSON.stringify(from)}, 'r+');
    const start = performance.now(); for (let n = 0; n < 10; n++) fs.fdatasyncSync(fd); console.log(performance.now() - start)`
  const tookMs = Number(execFileSync(process.execPath, ['-e', syncs], { env, encoding: 'utf8' }))
  if (!(tookMs >= 10 * slowerMs)) throw new Error('syncs cannot be slowed down on this machine')
  return env
}

/** What a slow disk does to all else that the process has to do. */
export const slowDisk: Scenario = {
  name: 'slow-disk',
  title: ({ runs }) => `${runs} runs at once, each sync of the disk takes ${slowerMs} ms longer`,
  figures: [
    { key: 'late', label: 'timers late, p99', unit: 'ms', ratio: true },
    { key: 'p50', label: 'delay p50', unit: 'ms' },
    { key: 'p99', label: 'delay p99', unit: 'ms' },
    { key: 'cpu', label: 'CPU per delta', unit: 'µs' },
  ],
  ways: ['hub', 'hub-worker', 'millrace'],
  base: 'hub-worker',
  env: slowSyncs,
  measure: steady.measure,
}
