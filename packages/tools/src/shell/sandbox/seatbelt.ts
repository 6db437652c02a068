import { protectedNames } from '../../permission/protected.ts'

/**
 * The input of a profile. All paths must be real paths, as Seatbelt requires: on a Mac `/tmp` is a
 * link.
 */
interface Profile {
  /** Writable folders. */
  readonly own: readonly string[]
  /** Protected paths in them that were found through git config, not by name. */
  readonly kept?: readonly string[]
  /** Writable paths without protection. */
  readonly open?: readonly string[]
  /** Files and folders that cannot be read. */
  readonly secrets?: readonly string[]
  /** `true`: everything. A number: only this local port, where a proxy listens. */
  readonly network: boolean | number
}

/**
 * The arguments for `sandbox-exec`. Paths are parameters of the profile, so that none can be parsed as a
 * rule. Modeled on the profiles of Chromium and others, since Apple documents none of this.
 */
export function seatbelt(program: string, argv: readonly string[], profile: Profile): string[] {
  const paths: string[] = []
  const parameter = (path: string) => `(param "P${paths.push(path) - 1}")`
  const text = rules(profile, parameter).join('\n')
  return ['-p', text, ...paths.flatMap((path, index) => ['-D', `P${index}=${path}`]), program, ...argv]
}

/** The last matching rule wins. */
function rules(
  { own, kept = [], open = [], secrets = [], network }: Profile,
  parameter: (path: string) => string,
): string[] {
  const rule = (words: string, paths: readonly string[]) =>
    paths.length > 0 ? [`(${words} ${paths.map((path) => `(subpath ${parameter(path)})`).join(' ')})`] : []
  return [
    ...basis,
    ...rule('allow file-write*', own),
    ...protectedEverywhere,
    ...rule('deny file-write*', kept),
    ...rule('allow file-write*', open),
    ...rule('deny file-read* file-write*', secrets),
    ...(network === true ? internet : []),
    ...(typeof network === 'number' ? [`(allow network-outbound (remote ip "localhost:${network}"))`] : []),
  ]
}

const services = (...names: string[]) =>
  `(allow mach-lookup ${names.map((name) => `(global-name "com.apple.${name}")`).join(' ')})`

/** Excludes services for the keychain, the clipboard and launching programs. */
const basis = [
  '(version 1)',
  '(deny default)',
  '(allow process-exec process-fork)',
  '(allow signal process-info* (target same-sandbox))',
  '(allow file-read*)',
  '(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath "/dev/fd"))',
  '(allow sysctl-read mach-host* user-preference-read pseudo-tty)',
  '(allow ipc-posix-sem ipc-posix-shm*)',
  services('system.opendirectoryd.libinfo', 'system.opendirectoryd.membership', 'system.logger', 'logd'),
]

const internet = [
  '(allow system-socket)',
  '(allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder"))',
  '(allow network-bind network-inbound (local ip "*:*"))',
  services('trustd.agent', 'networkd', 'SystemConfiguration.configd', 'SystemConfiguration.DNSConfiguration'),
]

/**
 * Protected by name in any folder, existing or not. Git treats a folder with a `HEAD` as a repository;
 * a `HEAD` inside `.git` must stay writable, since it changes with commits.
 */
const protectedEverywhere = [
  `(deny file-write* (regex #"/${named('.git')}$"))`,
  `(deny file-write* (regex #"/${named('.git')}/((modules|worktrees)/(.*/)?)?(${['config', 'config.worktree', 'commondir', 'hooks'].map(named).join('|')})(/|$)"))`,
  `(deny file-write* (require-all (regex #"/${named('HEAD')}$") (require-not (regex #"/\\.git/"))))`,
  `(deny file-write* (regex #"/(${[...protectedNames.keys()].map(named).join('|')})(/|$)"))`,
]

/** Case-insensitive, like most Mac disks. */
function named(name: string): string {
  return name
    .replaceAll('.', '\\.')
    .replace(/[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`)
}
