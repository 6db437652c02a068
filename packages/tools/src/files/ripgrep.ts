import { spawn } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { alwaysIgnored } from './ignore.ts'

/** A line of a file, from 1, that a search has found. */
export interface Hit {
  readonly path: string
  readonly line: number
}

export interface RipgrepOptions {
  readonly program: string
  /** Leads to the workspace. */
  readonly cwd: string
  /** The folder or file to look in, below the workspace, with no link in it. */
  readonly start: string
  /** Names to leave out besides. */
  readonly ignore: readonly string[]
  readonly signal: AbortSignal
  /** Told if ripgrep could not look, for it is too old or does not know such a pattern. Then it has found nothing. */
  readonly refused: () => void
}

export interface Query {
  readonly pattern: string
  readonly literal: boolean
  readonly ignoreCase: boolean
  /** How many lines of one file are enough. */
  readonly limit: number
}

/** The first `rg` of the PATH. One inside the workspace is none: whoever writes files there must not choose what we run. */
export function findRipgrep(root: string, path = process.env.PATH ?? ''): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue
    try {
      const program = realpathSync(join(folder, 'rg'))
      const inside = program.startsWith(root === '/' ? root : `${root}/`)
      accessSync(program, constants.X_OK)
      if (!inside && statSync(program).isFile()) return program
    } catch {
      // Not in this one.
    }
  }
  return undefined
}

/**
 * The lines that match, in the order of the paths. Their text is not taken from ripgrep: it goes by paths, and may have been led
 * astray by a link put there meanwhile.
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

/** The files there are, in the order of their paths, some at a time. */
export async function* ripgrepFiles(options: RipgrepOptions): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of ripgrep(['--files'], options)) {
    const paths = (rest + chunk).split('\0')
    rest = paths.pop() ?? ''
    yield paths.map((path) => path.replace(/^\.\//, '')).filter((path) => !/[\p{Cc}\\]/u.test(path))
  }
}

/** What it prints. Neither a setting of the user's, nor a file outside, nor a word of the model's changes how it goes about it. */
async function* ripgrep(
  args: readonly string[],
  { program, cwd, start, ignore, signal, refused }: RipgrepOptions,
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
  let complained = false
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
    complained = true
  })
  let told = false
  try {
    for await (const chunk of child.stdout) {
      told = true
      yield chunk as string
    }
    const code = await closed
    signal.throwIfAborted()
    // 2 alone only means that some file could not be read.
    if (!failure && (code === 0 || code === 1 || (code === 2 && (told || !complained)))) return
    if (told) throw new Error('The search broke off before its end: try again.')
    refused()
  } finally {
    child.kill('SIGKILL')
    await closed
  }
}
