import { protectedNames } from '../../permission/protected.ts'

/** What a profile is made of. All paths are real ones: Seatbelt knows no others, and `/tmp` is a link on a Mac. */
interface Profile {
  /** The folders that may be changed. */
  readonly own: readonly string[]
  /** Paths in them that are protected by the settings that lead to them, not by their names. */
  readonly kept?: readonly string[]
  /** Paths that may be changed, whatever is in them. */
  readonly open?: readonly string[]
  /** Files and folders that cannot be read. */
  readonly secrets?: readonly string[]
  /** `true`: all of it. A port: only that one of this machine, at which a proxy listens. */
  readonly network: boolean | number
}

/**
 * The arguments with which `sandbox-exec` runs a program. Each path is a parameter of the profile, so that none can be read as a
 * rule. Written after the profiles of Chromium and others, as Apple documents none of this.
 */
export function seatbelt(program: string, argv: readonly string[], profile: Profile): string[] {
  const paths: string[] = []
  const parameter = (path: string) => `(param "P${paths.push(path) - 1}")`
  const text = rules(profile, parameter).join('\n')
  return ['-p', text, ...paths.flatMap((path, index) => ['-D', `P${index}=${path}`]), program, ...argv]
}

/** Of the rules that fit, the last one counts. */
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

/** The services leave out the keychain, the clipboard, and what starts other programs. */
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
 * By their names, so that they need not exist, in whatever folder. Git takes a folder for a repository that has a `HEAD` in it; those
 * of a repository that lies in a `.git` change with every commit.
 */
const protectedEverywhere = [
  `(deny file-write* (regex #"/${named('.git')}$"))`,
  `(deny file-write* (regex #"/${named('.git')}/((modules|worktrees)/(.*/)?)?(${['config', 'config.worktree', 'commondir', 'hooks'].map(named).join('|')})(/|$)"))`,
  `(deny file-write* (require-all (regex #"/${named('HEAD')}$") (require-not (regex #"/\\.git/"))))`,
  `(deny file-write* (regex #"/(${[...protectedNames.keys()].map(named).join('|')})(/|$)"))`,
]

/** In upper and lower case, which are the same on most disks of a Mac. */
function named(name: string): string {
  return name
    .replaceAll('.', '\\.')
    .replace(/[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`)
}
