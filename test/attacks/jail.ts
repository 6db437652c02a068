import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type Fixture, programPath } from './fixture.ts'
import type { ShellName } from './table.ts'

/**
 * What a line did: whether it ran `marker`, and which files and folders of the fixture it changed.
 */
export interface Outcome {
  readonly mark: boolean
  readonly changes: readonly string[]
}

/**
 * Whether bubblewrap, bash, dash and busybox are installed. Without them, lines can be checked but
 * not run.
 */
export function canTry(): boolean {
  return (
    process.platform === 'linux' && ['bwrap', 'bash', 'dash', 'busybox'].every((name) => programPath(name))
  )
}

export function shellPath(shell: ShellName, { applets }: Fixture): string {
  return shell === 'busybox' ? join(applets, 'sh') : (programPath(shell) ?? `/bin/${shell}`)
}

/**
 * Runs one line after the other, each in a fresh copy of the fixture, and waits a little for
 * background processes. Changes are detected by ctime, which no program can reset. Git's index is
 * ignored: git updates it whenever it reads the files.
 */
const driver = `
PATH=/usr/bin:/bin
timeout=$(command -v timeout)
fresh() {
  rm -rf "$WORLD"/* 2>/dev/null || { chmod -R u+rwx "$WORLD"; rm -rf "$WORLD"/*; }
  cp -a "$TEMPLATE/." "$WORLD/"
  : > /tmp/stamp
  sleep 0.01
}
alone() { set -- /proc/[0-9]*; [ $# -le 2 ]; }
settle() {
  for i in 1 2 3 4 5 6 7 8; do alone && return; sleep 0.03; done
  kill -9 -1 2>/dev/null
  sleep 0.01
}
fresh
for file in "$LINES"/*; do
  IFS= read -r -d '' line < "$file"
  cd "$WORLD/workspace"
  (ulimit -t 5 -f 20000; PATH=$LINE_PATH exec "$timeout" -k 1 5 "$@" -c -- "$line" </dev/null >/dev/null 2>&1)
  cd /
  alone || settle
  report=$REPORT/\${file##*/}
  if [ -e "$WORLD/mark" ]; then echo mark > "$report"; rm -f "$WORLD/mark"; fi
  changes=$(find "$WORLD" -mindepth 1 -cnewer /tmp/stamp ! -path '*/.git/index' ! -path '*/.git' -printf '%P\\n' 2>&1)
  [ -z "$changes" ] || { printf '%s\\n' "$changes" >> "$report"; fresh; }
done
: > "$REPORT/end"`

/** How many lines share a jail: starting one costs about as much as running a line. */
const batchSize = 40

/** Runs lines in copies of a fixture, without a network. */
export function openJail(fixture: Fixture) {
  let count = 0

  async function runBatch(shell: ShellName, lines: readonly string[]): Promise<Outcome[]> {
    const job = join(fixture.root, 'jobs', String(count++))
    const nameOf = (index: number) => String(index).padStart(6, '0')
    for (const name of ['lines', 'report']) mkdirSync(join(job, name), { recursive: true })
    for (const [index, line] of lines.entries()) writeFileSync(join(job, 'lines', nameOf(index)), line)
    try {
      await execute(jailArguments(fixture, job, shell))
      reportOf(job, 'end')
      return lines.map((_, index) => outcomeOf(job, nameOf(index)))
    } finally {
      rmSync(job, { recursive: true, force: true })
    }
  }

  /** In the order of the lines. */
  async function run(shell: ShellName, lines: readonly string[]): Promise<Outcome[]> {
    const batches = Array.from({ length: Math.ceil(lines.length / batchSize) }, (_, index) =>
      lines.slice(index * batchSize, (index + 1) * batchSize),
    )
    return (await mapInTurn(batches, (batch) => runBatch(shell, batch))).flat()
  }
  return { run }
}

export type Jail = ReturnType<typeof openJail>

function outcomeOf(job: string, name: string): Outcome {
  let lines: string[]
  try {
    lines = reportOf(job, name).split('\n').filter(Boolean)
  } catch {
    lines = []
  }
  return { mark: lines[0] === 'mark', changes: lines.filter((line) => line !== 'mark') }
}

function reportOf(job: string, name: string): string {
  return readFileSync(join(job, 'report', name), 'utf8')
}

function jailArguments(fixture: Fixture, job: string, shell: ShellName): string[] {
  const lines = join(fixture.root, 'lines')
  const report = join(fixture.root, 'report')
  const path = [
    fixture.bin,
    ...(shell === 'busybox' ? [fixture.applets] : []),
    ...['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'],
  ]
  const variables = {
    LINE_PATH: path.join(':'),
    HOME: fixture.home,
    LANG: 'C.UTF-8',
    TEMPLATE: fixture.template,
    WORLD: fixture.world,
    LINES: lines,
    REPORT: report,
  }
  return [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'],
    ...['--ro-bind', join(fixture.root, 'tools'), join(fixture.root, 'tools')],
    ...['--ro-bind', fixture.template, fixture.template],
    ...['--ro-bind', join(job, 'lines'), lines],
    ...['--bind', join(job, 'report'), report],
    ...['--tmpfs', fixture.world],
    ...['--clearenv', ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value])],
    ...['bash', '-c', driver, 'driver', shellPath(shell, fixture)],
  ]
}

function execute(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile('bwrap', args, { timeout: 300_000, maxBuffer: 1e7 }, (error, _, stderr) =>
      error ? reject(new Error(`the jail failed: ${stderr || error.message}`)) : resolve(),
    )
  })
}

/** Like `Promise.all`, with limited concurrency. */
async function mapInTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const queue = items.entries()
  const worker = async () => {
    for (const [index, item] of queue) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, worker))
  return results
}
