import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** A control group (cgroups(7), version 2) for one command: what it starts stays in it, whatever else it leaves. */
export interface Cgroup {
  /** The words that start a program inside of it. */
  around(file: string, args: readonly string[]): { file: string; args: string[] }
  pids(): ReadonlySet<number>
  kill(): void
  /** To be called when none of its processes is left. */
  remove(): Promise<void>
}

/** Where this process may make some; undefined if it may not. */
const home = findHome()

/** The folder that is the cgroup of this command, if there can be one. */
export function cgroupFolder(marker: string): string | undefined {
  return home && join(home, `millrace-${marker}`)
}

/** Undefined if there can be none. */
export function newCgroup(marker: string): Cgroup | undefined {
  const folder = cgroupFolder(marker)
  if (folder === undefined || !attempt(() => mkdirSync(folder))) return undefined
  return {
    // The shell puts itself there, and then is the program: there is no moment in which it could start something elsewhere.
    around: (file, args) => ({
      file: '/bin/sh',
      args: ['-c', '{ echo 0 > "$0"; } 2> /dev/null; exec "$@"', join(folder, 'cgroup.procs'), file, ...args],
    }),
    pids: () => new Set(foldersIn(folder).flatMap(pidsIn)),
    // Since Linux 5.14. What was there before, or forks in between, is seen at the next look.
    kill: () => attempt(() => writeFileSync(join(folder, 'cgroup.kill'), '1')),
    async remove() {
      // The kernel may hold on to it for a moment after the last process is gone.
      for (let tries = 0; tries < 50; tries++) {
        if (foldersIn(folder).every((one) => attempt(() => rmdirSync(one)))) return
        await pause(10)
      }
    },
  }
}

function findHome(): string | undefined {
  try {
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    // proc_pid_mountinfo(5): `id parent device root at options … - type …`
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
    const [, , , root = '', at = ''] = mounts.find((line) => line.includes(' - cgroup2 '))?.split(' ') ?? []
    const below = root === '/' ? own : own?.startsWith(root) ? own.slice(root.length) : undefined
    if (!at || below === undefined) return undefined
    const home = join(at, below)
    accessSync(join(home, 'cgroup.procs'), constants.W_OK)
    accessSync(home, constants.W_OK)
    return home
  } catch {
    return undefined
  }
}

/** Those inside first. A program may have made some of its own. */
function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return [...entries.flatMap(({ name }) => foldersIn(join(folder, name))), folder]
  } catch {
    return []
  }
}

function pidsIn(folder: string): number[] {
  try {
    return readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function attempt(action: () => void): boolean {
  try {
    action()
    return true
  } catch {
    return false
  }
}
