import { spawnSync } from 'node:child_process'

/** Runs a program and returns its output. Throws with the output if it fails. */
export function run(command: string, args: readonly string[], cwd: string): string {
  const options = { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`.trimEnd())
  return stdout.trimEnd()
}

/** Runs a program and shows its output. */
export function show(command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed.`)
}
