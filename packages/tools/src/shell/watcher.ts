import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cgroupFolder } from './cgroup.ts'

/** The environment variable that identifies the processes of a command, even orphans. */
const variable = 'MILLRACE_COMMAND'

/** In the environment of every command of this process. */
const processMarker = randomUUID()

let commands = 0

/**
 * A marker for a command's environment. Keeps the marker of an outer process that runs this one.
 */
export function newMarker(): { marker: string; env: Record<string, string> } {
  const marker = `${processMarker}.${++commands}.`
  const outer = process.env[variable]
  return { marker, env: { [variable]: outer ? `${outer} ${marker}` : marker } }
}

// Waits for the end of its stdin, which means that this process has ended for any reason; then ends
// the remaining processes of its commands. Plain sh, which exists everywhere and costs nothing
// while it
// waits. Finds processes by cgroup if there are any, by marker where there is /proc, otherwise by
// process group. `grep` treats the zero bytes of an environment as line ends or as ordinary bytes;
// both work.
const script = `
trap '' HUP INT TERM
mark=$1 proc=$2 cgroups=$3
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
end() {
  found=
  pids=
  [ -z "$cgroups" ] || pids=$(find "$cgroups"* -name cgroup.procs -exec cat {} + 2>/dev/null)
  if [ -r "$proc/self/environ" ]; then
    for file in $(grep -lF -e "$mark" "$proc"/[0-9]*/environ 2>/dev/null); do
      pid=\${file#"$proc/"}
      pids="$pids \${pid%/environ}"
    done
  else
    for group in $groups; do kill -s "$1" -- "-$group" 2>/dev/null && found=yes; done
  fi
  for pid in $pids; do kill -s "$1" "$pid" 2>/dev/null && found=yes; done
  [ "$found" ]
}
tidy() {
  [ "$cgroups" ] || return
  # The kernel may keep a cgroup busy for a moment after its last process has ended.
  for try in 1 2 3 4 5; do
    find "$cgroups"* -depth -type d -exec rmdir {} \\; 2>/dev/null || return
    sleep 0.1
  done
}
trap tidy EXIT
# A command that was just being started may show up only now.
end TERM
sleep 0.2
end TERM || exit 0
sleep 0.3
for try in 1 2 3 4 5 6 7 8 9 10; do
  end KILL || exit 0
  sleep 0.1
done
`

export interface Watcher {
  /**
   * Ends a process group when this process ends. Call the returned function when the command has
   * ended.
   */
  guard(group: number): () => void
  /** Starts the watcher if it is not running. Call it before a command starts. */
  wake(): void
  /** Makes the watcher act as if this process had ended. */
  close(): void
  readonly pid: number | undefined
}

/** One watcher for all commands of this process. It does not keep the process running. */
export function crashWatcher({ mark = processMarker, proc = '/proc' } = {}): Watcher {
  const args = ['-c', script, 'millrace-watcher', mark, proc, cgroupFolder(mark) ?? '']
  const groups = new Set<number>()
  let child: ChildProcess | undefined
  let restarts = 0

  function send(line: string) {
    if (child?.stdin?.writable) child.stdin.write(line)
  }

  function start() {
    const started = spawn('/bin/sh', args, {
      // A new session, so that Ctrl-C in the terminal does not reach it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // System folders first: `npx` adds folders of the workspace to PATH, where a command could
      // plant a `grep`.
      env: { PATH: `/usr/bin:/bin:/run/current-system/sw/bin:${process.env.PATH ?? ''}`, LC_ALL: 'C' },
    })
    child = started
    started.unref()
    const { stdin } = started
    // In Node, the pipes of a child are sockets.
    if (stdin && 'unref' in stdin) (stdin as unknown as { unref(): void }).unref()
    stdin?.on('error', () => {})
    const lost = () => {
      if (child !== started) return
      child = undefined
      // It was killed. After repeated failures the next command tries again.
      if (groups.size > 0 && restarts++ < 3) start()
    }
    started.on('error', lost)
    started.on('exit', lost)
    for (const group of groups) send(`+ ${group}\n`)
  }

  return {
    wake() {
      restarts = 0
      if (!child) start()
    },
    guard(group) {
      groups.add(group)
      send(`+ ${group}\n`)
      return () => {
        if (groups.delete(group)) send(`- ${group}\n`)
      }
    },
    close() {
      child?.stdin?.end()
    },
    get pid() {
      return child?.pid
    },
  }
}

export const watcher: Watcher = crashWatcher()
