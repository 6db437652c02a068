import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type SandboxOptions, sandboxed, sandboxProblem } from './sandbox.ts'

const problem = await sandboxProblem()
// On one's own machine the rest is worth running; where it counts, nothing may be left out.
if (problem !== undefined && process.env.CI) throw new Error(problem)
if (problem !== undefined) process.stderr.write(`tests of the sandbox are left out, since ${problem}\n`)

export const hasSandbox = problem === undefined

/** A folder of its own that is gone afterwards; by default where folders for a while are. */
export function folder(parent = realpathSync(tmpdir())): string {
  mkdirSync(parent, { recursive: true })
  const made = mkdtempSync(join(parent, 'sandbox-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** A place that is not below `/tmp`, which is empty in the sandbox anyway, and where this project may lie. */
export const elsewhere = join(homedir(), '.cache')

/** Writes files by their paths in a folder. */
export function fill(root: string, files: Record<string, string>): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

interface Ended {
  readonly exitCode: number | null
  readonly output: string
  /** The paths of what could not stay. */
  readonly putAside: readonly string[]
}

/** Runs a line of shell in the sandbox to its end. */
export function inside(line: string, options: Omit<SandboxOptions, 'cwd'>): Promise<Ended> {
  // Node's pipes are sockets, and bash takes one that it reads from for a login over the network: it would read ~/.bashrc.
  const { file, args, tidy } = sandboxed('bash', ['--norc', '-c', line], { cwd: options.root, ...options })
  return new Promise((resolve) => {
    const child = execFile(file, args, { timeout: 60_000, killSignal: 'SIGKILL' }, (_, stdout, stderr) => {
      resolve({ exitCode: child.exitCode, output: stdout + stderr, putAside: tidy() })
    })
    child.stdin?.end()
  })
}
