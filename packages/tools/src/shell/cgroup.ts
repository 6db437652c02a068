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

/**
 * A control group (cgroups(7), version 2) for one command. All processes it starts stay in it, even if
 * they leave the session and process group.
 */
export interface Cgroup {
  /** The command line that starts a program inside the cgroup. */
  around(file: string, args: readonly string[]): { file: string; args: string[] }
  pids(): ReadonlySet<number>
  kill(): void
  /** Call it when all processes have ended. */
  remove(): Promise<void>
}

/** The folder where this process can create cgroups; undefined if it cannot. */
const home = findHome()

/** The folder of a command's cgroup; undefined if cgroups cannot be used. */
export function cgroupFolder(marker: string): string | undefined {
  return home && join(home, `millrace-${marker}`)
}

/** Undefined if cgroups cannot be used. */
export function newCgroup(marker: string): Cgroup | undefined {
  const folder = cgroupFolder(marker)
  if (folder === undefined || !attempt(() => mkdirSync(folder))) return undefined
  return {
    // The shell joins the cgroup, then becomes the program, so nothing can start outside of it.
    around: (file, args) => ({
      file: '/bin/sh',
      args: ['-c', '{ echo 0 > "$0"; } 2> /dev/null; exec "$@"', join(folder, 'cgroup.procs'), file, ...args],
    }),
    pids: () => new Set(foldersIn(folder).flatMap(pidsIn)),
    // Since Linux 5.14. On older kernels, and for races with fork, the next pass finds the
    // processes.
    kill: () => attempt(() => writeFileSync(join(folder, 'cgroup.kill'), '1')),
    async remove() {
      // The kernel may keep it busy for a moment after the last process has ended.
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

/** Innermost first. A program may have created cgroups inside. */
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
