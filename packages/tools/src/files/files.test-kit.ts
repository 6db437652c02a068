import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ToolContext } from 'millrace'
import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import { type FilesOptions, fileTools } from './files.ts'
import { openWorkspace } from './workspace.ts'

/** Both ways to confine access: by open handles, or by checks afterwards. */
export interface KitOptions extends Omit<FilesOptions, 'workspace'> {
  readonly hold?: boolean
}

/** A workspace in a new folder, with a secret next to it. */
export function filesKit() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-files-')))
  const root = join(base, 'workspace')
  const outside = join(base, 'outside')
  mkdirSync(root)
  mkdirSync(outside)

  return {
    root,
    outside,
    /** Writes files in the workspace: contents by path. */
    put(files: Record<string, string | Uint8Array>) {
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), content)
      }
    },
    /** Calls a tool like the runtime; returns errors as the model would see them. */
    async call(
      name: string,
      input: Record<string, unknown>,
      { hold, ...options }: KitOptions = {},
      context: Partial<ToolContext> = {},
    ): Promise<string> {
      const workspace = openWorkspace(root, hold === undefined ? {} : { hold })
      const tool = fileTools(workspace, options).tools.find((tool) => tool.name === name)
      if (!tool) throw new Error(`there is no tool ${name}`)
      const checked = await tool.schema.check(input)
      if (checked.issues) return `Not run: ${checked.issues.join('; ')}`
      try {
        return (await tool.run?.(checked.value as never, toolContext(context))) as string
      } catch (error) {
        return `The tool failed: ${(error as Error).message}`
      }
    },
    remove: () => rmSync(base, { recursive: true, force: true }),
  }
}

/** Runs a script in a child process during `work`. The script prints a line when it has started. */
export async function whileRunning<T>(
  script: string,
  args: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  try {
    await once(child.stdout, 'data')
    const result = await work()
    if (child.exitCode !== null) throw new Error('the child process exited early')
    return result
  } finally {
    child.kill('SIGKILL')
    await closed
  }
}
