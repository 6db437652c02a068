import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cgroupFolder } from './cgroup.ts'

/** The name of the variable by which the processes of a command are known, whatever becomes of them. */
const variable = 'MILLRACE_COMMAND'

/** Stands in the environment of every command of this process. */
const ours = randomUUID()

let commands = 0

/** What a command is to have in its environment. Inside a command of another process both can be known by it. */
export function newMarker(): { marker: string; env: Record<string, string> } {
  const marker = `${ours}.${++commands}.`
  const outer = process.env[variable]
  return { marker, env: { [variable]: outer ? `${outer} ${marker}` : marker } }
}

// Waits until this process is gone, however that came, which it sees by the end of its input; then ends what is left of its
// commands. Plain sh, which is everywhere and costs nothing while it waits. It goes by their cgroups, if there are any. Where there
// is /proc it goes by the marker; elsewhere by the groups it was given. `grep` takes the zeros of an environment for the ends of
// lines or for bytes like others.
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
  # The kernel may hold on to one for a moment after its last process is gone.
  for try in 1 2 3 4 5; do
    find "$cgroups"* -depth -type d -exec rmdir {} \\; 2>/dev/null || return
    sleep 0.1
  done
}
trap tidy EXIT
# A command that was just being started may show only now.
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
  /** Sees to it that a command's group does not outlive this process. Call what it returns when the command is over. */
  guard(group: number): () => void
  /** Starts it if it is not there: to be done before a command starts. */
  wake(): void
  /** Lets it think that this process is gone. */
  close(): void
  readonly pid: number | undefined
}

/** One for all commands of this process. It is no reason for the process to stay. */
export function crashWatcher({ mark = ours, proc = '/proc' } = {}): Watcher {
  const args = ['-c', script, 'millrace-watcher', mark, proc, cgroupFolder(mark) ?? '']
  const groups = new Set<number>()
  let child: ChildProcess | undefined
  let restarts = 0

  function tell(line: string) {
    if (child?.stdin?.writable) child.stdin.write(line)
  }

  function start() {
    const started = spawn('/bin/sh', args, {
      // A session of its own: a Ctrl-C in the terminal is not for it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // The system's folders first: in others of the PATH (`npx` adds some of the workspace) a command could have put a `grep`.
      env: { PATH: `/usr/bin:/bin:/run/current-system/sw/bin:${process.env.PATH ?? ''}`, LC_ALL: 'C' },
    })
    child = started
    started.unref()
    const { stdin } = started
    // A socket, as the pipes of children are in Node.
    if (stdin && 'unref' in stdin) (stdin as unknown as { unref(): void }).unref()
    stdin?.on('error', () => {})
    const lost = () => {
      if (child !== started) return
      child = undefined
      // Somebody ended it. If it cannot live at all, the next command tries again.
      if (groups.size > 0 && restarts++ < 3) start()
    }
    started.on('error', lost)
    started.on('exit', lost)
    for (const group of groups) tell(`+ ${group}\n`)
  }

  return {
    wake() {
      restarts = 0
      if (!child) start()
    },
    guard(group) {
      groups.add(group)
      tell(`+ ${group}\n`)
      return () => {
        if (groups.delete(group)) tell(`- ${group}\n`)
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
