import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished, vi } from 'vitest'
import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import { type McpOptions, type McpToolbox, mcp } from '../mcp.ts'

const programs = {
  raw: fileURLToPath(new URL('./raw-server.test-kit.ts', import.meta.url)),
  old: fileURLToPath(new URL('./old-server.test-kit.ts', import.meta.url)),
  new: fileURLToPath(new URL('./new-server.test-kit.ts', import.meta.url)),
}

export const rawServer = (mode: string) => ({ command: process.execPath, args: [programs.raw, mode] })

/** Connects for the duration of a test. */
export async function connected(options: McpOptions): Promise<McpToolbox> {
  const box = await mcp(options)
  onTestFinished(() => box.close())
  return box
}

/** Calls a tool by name, like the runtime. */
export async function call(
  box: McpToolbox,
  name: string,
  input: object = {},
  context = toolContext(),
): Promise<unknown> {
  const tool = box.tools.find((tool) => tool.name === name)
  if (!tool) throw new Error(`there is no ${name} among ${box.tools.map(({ name }) => name)}`)
  return tool.run?.(input as never, context)
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export const gone = (...pids: number[]) =>
  vi.waitUntil(() => !pids.some(isAlive), { timeout: 60_000, interval: 20 })

/** A server of the test kit, in a child process. */
export interface KitServer {
  readonly options: McpOptions
  /** Kills it, and starts another one if `mcp()` does not. */
  kill(pid: number): Promise<void>
  stop(): void
}

/** The kind is an SDK (`new` or `old`) and a transport. */
export async function kitServer(kind: string): Promise<KitServer> {
  const [sdk, transport = ''] = kind.split('-')
  const args = [sdk === 'new' ? programs.new : programs.old, transport]
  const isProcess = transport === 'stdio'
  let child: ChildProcess | undefined
  const port = isProcess ? '' : await start('0')
  return {
    options: isProcess ? { command: process.execPath, args } : { url: `http://127.0.0.1:${port}/mcp` },
    async kill(pid) {
      process.kill(pid, 'SIGKILL')
      await gone(pid)
      if (!isProcess) await start(port)
    },
    stop: () => void child?.kill('SIGKILL'),
  }

  function start(port: string): Promise<string> {
    const started = spawn(process.execPath, [...args, port], { stdio: ['ignore', 'pipe', 'ignore'] })
    child = started
    return new Promise((resolve, reject) => {
      started.stdout.once('data', (data) => resolve(String(data).trim()))
      started.once('exit', () => reject(new Error(`the ${kind} server ended`)))
    })
  }
}
