import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TextPart, ToolContext, ToolResultPart } from 'millrace'
import { toParts } from '../../../millrace/src/tools/content.ts'
import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import { findSandbox } from './sandbox/sandbox.ts'
import { type ShellOptions, shell } from './shell.ts'

/** Everything is tested without a sandbox and, if there is one, inside it. */
export const modes: readonly ('off' | 'required')[] = (await findSandbox()) ? ['off', 'required'] : ['off']

/** A shell in a new folder, with the processes of its commands. */
export function testShell(options: Partial<ShellOptions> = {}) {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-shell-')))
  // Not the marker that the shell itself uses.
  const token = randomUUID()
  const box = shell({ workspace, graceMs: 100, ...options, env: { ...options.env, TEST_TOKEN: token } })

  async function call(
    name: string,
    input: unknown,
    context: Partial<ToolContext>,
  ): Promise<readonly ToolResultPart[]> {
    const tool = box.tools.find((tool) => tool.name === name)
    const checked = await tool?.schema.check(input)
    if (!tool || !checked || checked.issues) throw new Error(checked?.issues?.join('\n') ?? `no tool ${name}`)
    return toParts(await tool.run?.(checked.value as never, toolContext(context)))
  }

  const textOf = (parts: readonly ToolResultPart[]) => parts.map((part) => (part as TextPart).text).join('')

  return {
    box,
    workspace,
    token,
    parts: (input: unknown, context: Partial<ToolContext> = {}) => call('shell', input, context),
    run: async (input: unknown, context: Partial<ToolContext> = {}) =>
      textOf(await call('shell', input, context)),
    poll: async (input: unknown, context: Partial<ToolContext> = {}) =>
      textOf(await call('shell_output', input, context)),
    left: () => processesWith(token),
    /**
     * Starts a background command and polls until it has printed this: on a busy machine the first
     * result may be too early.
     */
    async background(command: string, printed: string): Promise<string> {
      let text = textOf(await call('shell', { command, background: true }, {}))
      const id = idIn(text)
      while (!text.includes(printed)) text += textOf(await call('shell_output', { id, wait_ms: 60_000 }, {}))
      return text
    },
    async [Symbol.asyncDispose]() {
      await box.close()
      rmSync(workspace, { recursive: true, force: true })
    },
  }
}

/** The names of processes with this in their environment. Zombies have none. */
export function processesWith(token: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`).includes(token)) return []
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()]
      } catch {
        return []
      }
    })
}

/** Resolves when the condition holds. Otherwise the test times out. */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** The id in the result of a background call. */
export function idIn(text: string): string {
  const id = /bg_\w+/.exec(text)?.[0]
  if (!id) throw new Error(`no id in: ${text}`)
  return id
}
