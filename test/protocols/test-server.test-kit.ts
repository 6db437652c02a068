import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { main } from '../../packages/millrace/src/cli/cli.test-kit.ts'
import { bundled } from '../bundle.ts'
import { plainEnv } from '../processes.ts'
import { fixedPort } from '../survival/server-process.ts'
import { type Action, readActions } from './actions.ts'
import type { TestServer } from './protocol-client.ts'

const programOf = (name: string) => bundled(fileURLToPath(new URL(`./${name}.ts`, import.meta.url)))

export interface KillableServer extends TestServer {
  actions(): Action[]
}

/** Starts a server in its own process, with its own threads. */
export async function testServer(): Promise<KillableServer> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-protocols-'))
  const database = join(folder, 'threads.db')
  const actions = join(folder, 'actions')
  const env = { ...plainEnv(), DESK_ACTIONS: actions }
  const port = await fixedPort()
  const [program, agents] = await Promise.all([programOf('serve'), programOf('desk')])
  let child: ChildProcess | undefined

  async function start() {
    child = spawn(process.execPath, [program, database, `${port}`], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin?.on('error', () => {})
    const ended = once(child, 'exit').then(() => {
      throw new Error('the server exited before it was ready')
    })
    await Promise.race([once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'), ended])
    ended.catch(() => {})
  }

  async function kill() {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  onTestFinished(async () => {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  return {
    url: `http://127.0.0.1:${port}`,
    stdio: (command) => ({
      command: process.execPath,
      args: [main, command, agents, '--data', database],
      env: Object.fromEntries(
        Object.entries({ ...env, HOME: folder }).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, value]],
        ),
      ),
    }),
    async restart() {
      await kill()
      await start()
    },
    actions: () => readActions(actions),
  }
}

/** Whether a process exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
