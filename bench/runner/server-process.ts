import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface ServerProcess {
  readonly url: string
  stop(): Promise<void>
}

/** The server in a process of its own; it ends with this one, whatever happens. */
export async function startServer(): Promise<ServerProcess> {
  const main = join(import.meta.dirname, '../server/main.ts')
  const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const [line]: string[] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exit.then(() => Promise.reject(new Error('the server did not start'))),
  ])
  const { url }: { url: string } = JSON.parse(line ?? '')
  return {
    url,
    async stop() {
      child.stdin.end()
      await exit
    },
  }
}
