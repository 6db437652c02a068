interface Failed {
  /** All that the command has printed. */
  readonly output: string
  /** Null if a signal ended it. */
  readonly exitCode: number | null
  /** Its exit code may be that of another part: `npm install | tail`. */
  readonly isMasked?: boolean
  readonly network: boolean
  readonly root: string
}

interface Refusal {
  readonly signs: RegExp
  /** Only without the network. */
  readonly offline?: boolean
  readonly words: (root: string) => string
}

/** In order of how much they explain. The first that fits is told: a command rarely fails for two reasons at once. */
const refusals: readonly Refusal[] = [
  {
    // Git puts a new file in the place of its settings, which are a place of their own here: `Device or resource busy`.
    signs: /\.git(\/(hooks|config)\b|')[^\n]{0,200}(Read-only file system|Device or resource busy)/,
    words: () =>
      'the hooks and the settings of the git repository may not be changed, since they take effect outside. For one command settings can be given with `git -c name=value`; ask the user for what must last',
  },
  {
    signs: /Read-only file system|\bEROFS\b/i,
    words: (root) =>
      `only the workspace (${root}) and /tmp can be written, and what is in /tmp is gone with the command. Write there instead: caches and settings can often be moved by an option or a variable of the program`,
  },
  {
    signs:
      /Network is unreachable|ENETUNREACH|Could not resolve host|unable to resolve host|Temporary failure (in name resolution|resolving)|EAI_AGAIN|Name or service not known|getaddrinfo ENOTFOUND/i,
    offline: true,
    words: () =>
      'there is no network here. Go on with what is installed, or ask the user to do what needs the network',
  },
  {
    signs: /ECONNREFUSED|Connection refused|Failed to connect to (localhost|127\.|::1)/i,
    offline: true,
    words: () =>
      'there is no network here, and 127.0.0.1 leads only to what the same command has started. Start the server within the command, or ask the user',
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
export function sandboxRefusal({ output, exitCode, isMasked, network, root }: Failed): string | undefined {
  if (exitCode === 0 && !isMasked) return undefined
  const found = refusals.find(({ signs, offline }) => !(offline && network) && signs.test(output))
  const who =
    exitCode === 0 ? 'If that is a failure, it is the sandbox' : 'The sandbox refused this, not the system'
  return found && `[${who}: ${found.words(root)}.]`
}
