import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientApp } from '@agentclientprotocol/sdk'
import { onTestFinished } from 'vitest'
import { main } from '../../packages/millrace/src/cli/cli.test-kit.ts'
import { editorOver } from '../../packages/tools/src/acp/editor.test-kit.ts'
import { testEditor } from '../../packages/tools/src/editor.test-kit.ts'
import { plainEnv } from '../processes.ts'

/**
 * Starts `millrace acp` as an editor does that offers its files and terminals, in a folder that is
 * removed when the test ends.
 */
export async function startEditor(
  agents: string,
  { cwd, env = {} }: { cwd: string; env?: NodeJS.ProcessEnv },
) {
  const child = spawn(process.execPath, [main, 'acp', agents, '--data', join(cwd, '.millrace.db')], {
    cwd,
    env: { ...plainEnv(), ...env, HOME: cwd },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  child.stdin.on('error', () => {})
  const { type, unsaved, asked, terminals, client } = testEditor([cwd])
  const over = editorOver(
    { input: child.stdout, output: child.stdin },
    {
      capabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
      extend: (app) => serveTerminals(serveFiles(app)),
    },
  )
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(cwd, { recursive: true, force: true })
  })

  function serveFiles(app: ClientApp): ClientApp {
    const { signal } = new AbortController()
    return app
      .onRequest('fs/read_text_file', async ({ params }) => ({
        content: (await client.readTextFile?.(params.path, { signal })) ?? '',
      }))
      .onRequest('fs/write_text_file', async ({ params }) => {
        await client.writeTextFile?.(params.path, params.content, { signal })
        return {}
      })
  }

  function serveTerminals(app: ClientApp): ClientApp {
    const terminal = ({ terminalId }: { terminalId: string }) => {
      const found = terminals.find(({ id }) => id === terminalId)
      if (!found) throw new Error(`there is no terminal ${terminalId}`)
      return found
    }
    return app
      .onRequest('terminal/create', async ({ params }) => {
        const { command, args = [], cwd: folder, outputByteLimit, env = [] } = params
        if (folder !== cwd || env.length > 0) throw new Error('expected the folder, and no variables')
        const limit = outputByteLimit ?? Number.POSITIVE_INFINITY
        const opened = await client.createTerminal?.({ command, args, cwd, outputByteLimit: limit })
        return { terminalId: opened?.id ?? '' }
      })
      .onRequest('terminal/output', ({ params }) => terminal(params).currentOutput())
      .onRequest('terminal/wait_for_exit', ({ params }) => terminal(params).waitForExit())
      .onRequest('terminal/kill', async ({ params }) => {
        await terminal(params).kill()
        return {}
      })
      .onRequest('terminal/release', async ({ params }) => {
        await terminal(params).release()
        return {}
      })
  }

  await over.initialize()
  const { sessionId } = await over.agent.request('session/new', { cwd, mcpServers: [] })
  return {
    text: over.text,
    calls: over.calls,
    questions: over.questions,
    allow: async () => (await over.asked()).choose('allow'),
    prompt: (text: string) => over.prompt(sessionId, text),
    cancel: () => over.cancel(sessionId),
    /** The process of the agent dies. */
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async close() {
      child.stdin.end()
      await exited
    },
    cwd,
    asked,
    terminals,
    /** Types into a file without saving it. */
    type: (path: string, text: string) => type(join(cwd, path), text),
    unsaved: (path: string) => unsaved(join(cwd, path)),
  }
}
