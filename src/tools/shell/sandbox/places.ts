import { lstatSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join, sep } from 'node:path'

/** Whether it is that folder, or lies somewhere in it. Both are absolute, and without links. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/** In the home folder. What a command does not see it can neither print to the model nor send away. */
const secretPlaces = `
  .ssh .gnupg .password-store .local/share/keyrings .vault-token .netrc .git-credentials .config/git/credentials
  .aws .azure .config/gcloud .config/doctl .kube .docker .config/containers .terraform.d .config/rclone
  .config/gh .config/glab-cli .config/hub .npmrc .yarnrc.yml .pypirc .gem/credentials .cargo/credentials .cargo/credentials.toml
  .gradle/gradle.properties .pgpass .my.cnf .mozilla .config/google-chrome .config/chromium
  .bash_history .zsh_history .python_history .node_repl_history .psql_history
`
  .trim()
  .split(/\s+/)

interface Place {
  readonly at: string
  readonly kind: 'folder' | 'file'
}

/** The folders and files of secrets that are there, and the socket of an agent that would sign for whoever asks. */
export function secrets(): Place[] {
  const paths = [...secretPlaces.map((place) => join(homedir(), place)), process.env.SSH_AUTH_SOCK ?? '']
  return paths
    .filter(isAbsolute)
    .map(resolved)
    .filter((path) => path !== undefined)
    .map((at) => ({ at, kind: kindOf(at) === 'folder' ? 'folder' : 'file' }))
}

/**
 * Folders that are empty inside, or begin so. A read-only mount keeps nobody from talking to a socket: those of docker, dbus, X11
 * and agents lie in `/run` and `/tmp`, and every service that is installed brings another.
 */
export function leadingOut(): string[] {
  const elsewhere = ['/var/lib/lxd', '/var/lib/incus', '/var/snap/lxd', '/nix/var/nix/daemon-socket']
  const places = ['/tmp', '/var/tmp', '/run', '/var/run', ...elsewhere, process.env.XDG_RUNTIME_DIR ?? '']
  return places.filter((path) => isAbsolute(path) && kindOf(path) === 'folder')
}

/** What is needed of those all the same: programs (NixOS, fnm), and with the network the file that says whom to ask for names. */
export function needed({ network }: { network: boolean }): string[] {
  const system = ['/run/current-system', '/run/booted-system', '/run/opengl-driver']
  const programs = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute)
  const names = network ? resolved('/etc/resolv.conf') : undefined
  return [...system, ...programs, names ?? ''].filter((path) => isWithin(path, '/run'))
}

/**
 * What of a folder stays as it is although the rest can be changed: git runs the hooks, and what its settings name, later and
 * outside. A bind on `.git` itself keeps it from being moved away and made anew.
 */
export function protectedIn(folder: string): { at: string; how: '--bind' | '--ro-bind' }[] {
  const git = join(folder, '.git')
  // In a worktree it is a file that says where to look.
  if (kindOf(git) === 'file') return [{ at: git, how: '--ro-bind' }]
  if (kindOf(git) !== 'folder') return []
  const kept = ['hooks', 'config'].map((name) => join(git, name))
  const there = kept.filter((path) => kindOf(path) === 'folder' || kindOf(path) === 'file')
  return [{ at: git, how: '--bind' }, ...there.map((at) => ({ at, how: '--ro-bind' }) as const)]
}

function resolved(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Undefined if it is not there, or not to be seen. */
function kindOf(path: string): 'folder' | 'file' | 'link' | undefined {
  try {
    const stats = lstatSync(path)
    return stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'folder' : 'file'
  } catch {
    return undefined
  }
}
