import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { isWhole } from '../../../../test/size.ts'
import { modes, processesWith } from './shell.test-kit.ts'

/** Starts a process that runs commands, and waits until they run. */
async function otherProcess(how: string, sandbox: string) {
  const workspace = mkdtempSync(join(tmpdir(), 'millrace-crash-'))
  const token = randomUUID()
  const script = fileURLToPath(new URL('./crash.test-kit.ts', import.meta.url))
  const child = spawn(process.execPath, [script, how, workspace, token, sandbox], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    child,
    exited,
    token,
    watcherPid: Number(String(said)),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
      rmSync(workspace, { recursive: true, force: true })
    },
  }
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
}

describe.each(modes)('when the process ends, sandbox %s', (sandbox) => {
  const ways = [
    ['wait', 'SIGKILL'],
    ['wait', 'SIGTERM'],
    ['wait', 'SIGINT'],
    ['exit', undefined],
    ['throw', undefined],
    ['end', undefined],
  ] as const

  test.each(isWhole ? ways : ways.slice(0, 1))(
    'by %s %s, its commands end, and then the watcher',
    async (how, signal) => {
      await using other = await otherProcess(how, sandbox)
      if (signal) {
        expect(processesWith(other.token).length).toBeGreaterThan(5)
        other.child.kill(signal)
      }
      await other.exited
      await expect.poll(() => processesWith(other.token)).toEqual([])
      await expect.poll(() => isAlive(other.watcherPid)).toBe(false)
    },
  )
})
