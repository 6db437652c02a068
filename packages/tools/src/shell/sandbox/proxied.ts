/** The proxy's port, above the range of ephemeral ports on Linux. */
const port = 61_080

/** Listens inside the sandbox and sends the socket to the process outside, which serves it. */
const listen = `const server = require('net').createServer().listen(${port}, '127.0.0.1', () => process.send('', server, () => process.exit()))`

/**
 * Removes the IPC channel and its variables before the program starts. The program's own variables are
 * set last, so that an LD_PRELOAD affects only the program.
 */
const start =
  'NODE_OPTIONS= "$0" -e "$1" && shift && unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE && exec env -- "$@" 3>&- 4>&-'

/** The command line that starts a program whose only network access is the proxy. */
export function behindProxy(
  hosts: readonly string[],
  { program, argv, env }: { program: string; argv: readonly string[]; env: Readonly<Record<string, string>> },
): string[] {
  const variables = Object.entries({ ...proxyVariables(hosts), ...env })
  const settings = variables.map(([name, value]) => `${name}=${value}`)
  return ['/bin/sh', '-c', start, process.execPath, listen, ...settings, program, ...argv]
}

function proxyVariables(hosts: readonly string[]): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`
  // Servers that the command itself starts are reached directly, unless `hosts` names the machine's
  // own.
  const direct = ['localhost', '127.0.0.1', '::1'].filter(
    (name) => !hosts.some((host) => host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') === name),
  )
  const upper = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: direct.join(',') }
  const lower = Object.entries(upper).map(([name, value]) => [name.toLowerCase(), value])
  return { ...upper, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' }
}
