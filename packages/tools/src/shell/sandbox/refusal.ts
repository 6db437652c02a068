import { protectedNames } from '../../permission/protected.ts'

interface Failed {
  /** All that the command has printed. */
  readonly output: string
  /** Null if a signal ended it. */
  readonly exitCode: number | null
  /** Its exit code may be that of another part: `npm install | tail`. */
  readonly isMasked?: boolean
  readonly network: boolean | readonly string[]
  /** Known for certain, if there is a proxy. */
  readonly refusedHosts?: readonly string[]
  readonly root: string
  readonly readOnly?: boolean
  /** The paths at which lies what the command was not to leave. */
  readonly putAside?: readonly string[]
}

interface Refusal {
  readonly signs: RegExp
  /** Only without the whole network. */
  readonly offline?: boolean
  /** Only where the workspace can be changed. */
  readonly writing?: boolean
  readonly words: (failed: Failed) => string
}

const untilRefused = '[^\\n]{0,200}(Read-only file system|Device or resource busy|EROFS|EBUSY)'

const names = [...protectedNames.keys()].map((name) => name.replaceAll('.', '\\.')).join('|')

/** In order of how much they explain. The first that fits is told: a command rarely fails for two reasons at once. */
const refusals: readonly Refusal[] = [
  {
    // Git puts a new file in the place of its settings, which are a place of their own here: `Device or resource busy`.
    signs: new RegExp(`\\.git(/(hooks|config|commondir)\\b|['’:])${untilRefused}`),
    writing: true,
    words: () =>
      'the hooks and the settings of the git repository may not be changed, nor it be moved, since they take effect outside. For one command settings can be given with `git -c name=value`; ask the user for what must last',
  },
  {
    signs: new RegExp(`(\\.git/(description|branches|info|HEAD)|cannot mkdir \\S*\\.git/)${untilRefused}`),
    writing: true,
    words: () =>
      'no git repository can be made here, since its settings would take effect outside. Work without one, make it in /tmp, or ask the user to run `git init`',
  },
  {
    signs: new RegExp(`(${names})\\b${untilRefused}|(EROFS|EBUSY): [^\\n]{0,200}['/](${names})\\b`),
    writing: true,
    words: () =>
      'files that make tools run code outside, such as .npmrc, .vscode or .husky, may not be changed. Ask the user to do it',
  },
  {
    signs: /Read-only file system|\bEROFS\b/i,
    words: ({ root, readOnly }) =>
      `only ${readOnly ? '' : `the workspace (${root}) and `}/tmp can be written, and what is in /tmp is gone with the command. Write there instead: caches and settings can often be moved by an option or a variable of the program`,
  },
  {
    signs:
      /Network is unreachable|ENETUNREACH|Could not resolve host|unable to resolve host|Temporary failure (in name resolution|resolving)|EAI_AGAIN|Name or service not known|getaddrinfo ENOTFOUND/i,
    offline: true,
    words: ({ network }) =>
      typeof network === 'boolean'
        ? 'there is no network here. Go on with what is installed, or ask the user to do what needs the network'
        : `only ${network.join(', ')} can be reached, and only through the proxy that the variables HTTP_PROXY and HTTPS_PROXY name. Tell the program to use it, or ask the user to do what needs more`,
  },
  {
    signs: /ECONNREFUSED|Connection refused|Failed to connect to (localhost|127\.|::1)/i,
    offline: true,
    words: ({ network }) =>
      `${network ? '' : 'there is no network here, and '}127.0.0.1 leads only to what the same command has started. Start the server within the command, or ask the user`,
  },
  {
    signs: /no new privileges|sudo: .{0,200}(must be owned by|effective uid is not 0)/,
    words: () => 'nobody gets more rights here. Do it without sudo, or ask the user to do it',
  },
  {
    signs:
      /Cannot connect to the Docker daemon|docker\.sock|podman\.sock|Failed to connect to bus|cannot open display|Could not open a connection to your authentication agent/i,
    words: () =>
      'services of the machine such as docker, dbus or an agent for keys cannot be reached from here',
  },
]

/** What to tell the model if a command failed because of the sandbox; undefined if nothing says so. */
export function sandboxRefusal(failed: Failed): string | undefined {
  const { output, exitCode, isMasked, network, readOnly, putAside = [] } = failed
  if (putAside.length > 0)
    return `[The sandbox has put aside what makes tools run code outside: it is now ${putAside.join(', ')}. Leave it there, and ask the user if it is needed.]`
  if (exitCode === 0 && !isMasked) return undefined
  const found = refusals.find(
    ({ signs, offline, writing }) =>
      !(offline && network === true) && !(writing && readOnly) && signs.test(output),
  )
  const words = hostsRefused(failed) ?? found?.words(failed)
  const who =
    exitCode === 0 ? 'If that is a failure, it is the sandbox' : 'The sandbox refused this, not the system'
  return words && `[${who}: ${words}.]`
}

function hostsRefused({ refusedHosts = [], network }: Failed): string | undefined {
  if (refusedHosts.length === 0 || typeof network === 'boolean') return undefined
  return `${refusedHosts.join(', ')} may not be reached from here, only ${network.join(', ')}. Go on without, or ask the user to allow it`
}
