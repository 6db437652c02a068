import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startCommand } from '../command.ts'
import { type SandboxOptions, sandboxed, sandboxProblem } from './sandbox.ts'

const problem = await sandboxProblem()
// On a developer's machine these tests may be skipped; in CI they must run.
if (problem !== undefined && process.env.CI) throw new Error(problem)
if (problem !== undefined) process.stderr.write(`tests of the sandbox are left out, since ${problem}\n`)

export const hasSandbox = problem === undefined

/** A new folder that is removed afterwards; in the temporary folder by default. */
export function folder(parent = realpathSync(tmpdir())): string {
  mkdirSync(parent, { recursive: true })
  const made = mkdtempSync(join(parent, 'sandbox-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** A folder outside `/tmp`, which is empty in the sandbox anyway. */
export const elsewhere = join(homedir(), '.cache')

/** Writes files in a folder, by path. */
export function fill(root: string, files: Record<string, string>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** The number of open file descriptors of this process. */
export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

interface Ended {
  readonly exitCode: number | null
  readonly output: string
  /** The new paths of renamed files. */
  readonly putAside: readonly string[]
}

/** Runs a shell line in the sandbox to its end. */
export async function inside(line: string, options: Omit<SandboxOptions, 'cwd'>): Promise<Ended> {
  const cwd = options.root
  const { file, args, filter, tidy } = sandboxed('bash', ['--norc', '-c', line], { cwd, ...options })
  const order = { file, args, cwd, env: process.env, maxOutputBytes: 2 ** 20, graceMs: 0 }
  const command = await startCommand({ ...order, sandbox: { filter } })
  const { code } = await command.ended
  const text = (channel: 1 | 2) => command.output.read(channel).head
  return { exitCode: code, output: text(1) + text(2), putAside: tidy() }
}
