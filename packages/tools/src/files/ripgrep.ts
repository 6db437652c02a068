import { spawn } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { alwaysIgnored } from './ignore.ts'

/** A matching line of a file, from 1. */
export interface Hit {
  readonly path: string
  readonly line: number
}

export interface RipgrepOptions {
  readonly program: string
  /** The workspace. */
  readonly cwd: string
  /** The folder or file to search, relative to the workspace, without links. */
  readonly start: string
  /** More globs to ignore. */
  readonly ignore: readonly string[]
  readonly signal: AbortSignal
  /** Called if ripgrep is too old or does not support the pattern. Then there are no results. */
  readonly onUnsupported: () => void
}

export interface Query {
  readonly pattern: string
  readonly literal: boolean
  readonly ignoreCase: boolean
  /** Maximum number of lines per file. */
  readonly limit: number
}

/**
 * The first `rg` in PATH outside the workspace: a model that can write files there must not choose
 * what we run.
 */
export function findRipgrep(root: string, path = process.env.PATH ?? ''): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue
    try {
      const program = realpathSync(join(folder, 'rg'))
      const inside = program.startsWith(root === '/' ? root : `${root}/`)
      accessSync(program, constants.X_OK)
      if (!inside && statSync(program).isFile()) return program
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

/**
 * The matching lines, sorted by path. Their text is read separately: ripgrep resolves paths itself and
 * may have followed a link created meanwhile.
 */
export async function* ripgrepHits(query: Query, options: RipgrepOptions): AsyncGenerator<Hit> {
  const args = [
    '--line-number',
    '--with-filename',
    '--no-heading',
    '--max-columns=1',
    '--crlf',
    `--max-count=${query.limit}`,
    query.ignoreCase ? '--ignore-case' : '--case-sensitive',
    ...(query.literal ? ['--fixed-strings'] : []),
    `--regexp=${query.pattern}`,
  ]
  let rest = ''
  for await (const chunk of ripgrep(args, options)) {
    const records = (rest + chunk).split('\n')
    rest = records.pop() ?? ''
    for (const record of records) {
      const [, path, line] = /^(?:\.\/)?([^\0]+)\0(\d+):/.exec(record) ?? []
      if (path !== undefined) yield { path, line: Number(line) }
    }
  }
}

/** All files, sorted by path, in batches. */
export async function* ripgrepFiles(options: RipgrepOptions): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of ripgrep(['--files'], options)) {
    const paths = (rest + chunk).split('\0')
    rest = paths.pop() ?? ''
    yield paths.map((path) => path.replace(/^\.\//, '')).filter((path) => !/[\p{Cc}\\]/u.test(path))
  }
}

/**
 * Runs ripgrep and yields its output. Independent of user settings, ignore files outside, and
 * option-like patterns.
 */
async function* ripgrep(
  args: readonly string[],
  { program, cwd, start, ignore, signal, onUnsupported }: RipgrepOptions,
): AsyncGenerator<string> {
  const names = ignore.filter((glob) => /^[\w.-]+$/.test(glob))
  const common = [
    '--no-config',
    '--no-messages',
    '--no-follow',
    '--no-ignore-parent',
    '--no-ignore-global',
    '--no-require-git',
    '--hidden',
    '--null',
    '--color=never',
    '--sort=path',
    ...[...alwaysIgnored, ...names].map((name) => `--glob=!${name}`),
  ]
  const child = spawn(program, [...common, ...args, '--', `./${start}`], {
    cwd,
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  })
  let hasErrors = false
  let failure: Error | undefined
  const closed = new Promise<number | null>((resolve) => {
    child.once('close', resolve)
    child.once('error', (error) => {
      failure = error
      if (child.pid === undefined) resolve(null)
    })
  })
  child.stdout.setEncoding('utf8')
  child.stderr.on('data', () => {
    hasErrors = true
  })
  let hasOutput = false
  try {
    for await (const chunk of child.stdout) {
      hasOutput = true
      yield chunk as string
    }
    const code = await closed
    signal.throwIfAborted()
    // Exit code 2 alone only means that some file could not be read.
    if (!failure && (code === 0 || code === 1 || (code === 2 && (hasOutput || !hasErrors)))) return
    if (hasOutput) throw new Error('The search stopped before it was complete: try again.')
    onUnsupported()
  } finally {
    child.kill('SIGKILL')
    await closed
  }
}
