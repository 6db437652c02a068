import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { plainEnv } from './processes.ts'
import { root } from './root.ts'

/**
 * Starts an example on a free port, with its data in a temporary folder. Resolves with the URL it
 * prints.
 */
export async function startExample(name: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  const child = spawn(process.execPath, [join('examples', name, 'main.ts')], {
    cwd: root,
    env: { ...plainEnv(), PORT: '0', DATA: join(folder, 'threads.db'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: string[] = []
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output.push(chunk)
        const url = /http:\/\/\S+/.exec(output.join(''))
        if (url) resolve(url[0])
      })
    void exited.then(() => reject(new Error(`examples/${name} exited: ${output.join('')}`)))
  })
}
