import { protectedNames } from '../../permission/protected.ts'

interface FailedCommand {
  /** Everything the command printed. */
  readonly output: string
  /** Null if it was ended by a signal. */
  readonly exitCode: number | null
  /** Its exit code may be that of another command: `npm install | tail`. */
  readonly isMasked?: boolean
  readonly network: boolean | readonly string[]
  /** Known from the proxy, if there is one. */
  readonly deniedHosts?: readonly string[]
  readonly root: string
  readonly readOnly?: boolean
  /** New paths of protected files that the command created and that were renamed. */
  readonly putAside?: readonly string[]
}

interface Denial {
  readonly pattern: RegExp
  /** Only without full network access. */
  readonly offline?: boolean
  /** Only if the workspace is writable. */
  readonly writing?: boolean
  readonly explain: (failed: FailedCommand) => string
}

const untilDenied = '[^\\n]{0,200}(Read-only file system|Device or resource busy|EROFS|EBUSY)'

const names = [...protectedNames.keys()].map((name) => name.replaceAll('.', '\\.')).join('|')

/**
 * Most specific first. Only the first match is reported: a command rarely fails for two reasons at
 * once.
 */
const denials: readonly Denial[] = [
  {
    // Git replaces its config file, which is a mount point here: `Device or resource busy`.
    pattern: new RegExp(`\\.git(/(hooks|config|commondir)\\b|['’:])${untilDenied}`),
    writing: true,
    explain: () =>
      'git hooks and config cannot be changed, and the repository cannot be moved, because that would take effect outside. Use `git -c name=value` for settings of one command; ask the user for permanent changes',
  },
  {
    pattern: new RegExp(`(\\.git/(description|branches|info|HEAD)|cannot mkdir \\S*\\.git/)${untilDenied}`),
    writing: true,
    explain: () =>
      'git repositories cannot be created here, because their config would take effect outside. Work without one, create it in /tmp, or ask the user to run `git init`',
  },
  {
    pattern: new RegExp(`(${names})\\b${untilDenied}|(EROFS|EBUSY): [^\\n]{0,200}['/](${names})\\b`),
    writing: true,
    explain: () =>
      'files that make tools run code outside, such as .npmrc, .vscode or .husky, cannot be changed. Ask the user to do it',
  },
  {
    pattern: /Read-only file system|\bEROFS\b/i,
    explain: ({ root, readOnly }) =>
      `only ${readOnly ? '' : `the workspace (${root}) and `}/tmp can be written, and /tmp is deleted after the command. Write there instead: programs often have an option or a variable to move caches and settings`,
  },
  {
    pattern:
      /Network is unreachable|ENETUNREACH|Could not resolve host|unable to resolve host|Temporary failure (in name resolution|resolving)|EAI_AGAIN|Name or service not known|getaddrinfo ENOTFOUND/i,
    offline: true,
    explain: ({ network }) =>
      typeof network === 'boolean'
        ? 'there is no network here. Continue with what is installed, or ask the user to do what needs the network'
        : `only ${network.join(', ')} can be reached, and only through the proxy in the variables HTTP_PROXY and HTTPS_PROXY. Configure the program to use it, or ask the user to do what needs more`,
  },
  {
    pattern: /ECONNREFUSED|Connection refused|Failed to connect to (localhost|127\.|::1)/i,
    offline: true,
    explain: ({ network }) =>
      `${network ? '' : 'there is no network here, and '}127.0.0.1 reaches only servers that the same command has started. Start the server in the command, or ask the user`,
  },
  {
    pattern: /no new privileges|sudo: .{0,200}(must be owned by|effective uid is not 0)/,
    explain: () => 'elevated privileges are not available here. Do it without sudo, or ask the user to do it',
  },
  {
    pattern:
      /Cannot connect to the Docker daemon|docker\.sock|podman\.sock|Failed to connect to bus|cannot open display|Could not open a connection to your authentication agent/i,
    explain: () => 'services of the machine such as docker, dbus or a key agent cannot be reached from here',
  },
]

/**
 * Tells the model that a command failed because of the sandbox; undefined if nothing indicates
 * that.
 */
export function sandboxDenial(failed: FailedCommand): string | undefined {
  const { output, exitCode, isMasked, network, readOnly, putAside = [] } = failed
  if (putAside.length > 0)
    return `[The sandbox renamed files that would make tools run code outside, to ${putAside.join(', ')}. Leave them there, and ask the user if they are needed.]`
  if (exitCode === 0 && !isMasked) return undefined
  const found = denials.find(
    ({ pattern, offline, writing }) =>
      !(offline && network === true) && !(writing && readOnly) && pattern.test(output),
  )
  const words = deniedHostsText(failed) ?? found?.explain(failed)
  const who =
    exitCode === 0 ? 'If that failed, the sandbox is the cause' : 'The sandbox denied this, not the system'
  return words && `[${who}: ${words}.]`
}

function deniedHostsText({ deniedHosts = [], network }: FailedCommand): string | undefined {
  if (deniedHosts.length === 0 || typeof network === 'boolean') return undefined
  return `${deniedHosts.join(', ')} cannot be reached from here, only ${network.join(', ')}. Continue without, or ask the user to allow it`
}
