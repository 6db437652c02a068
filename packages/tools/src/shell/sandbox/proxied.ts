/** Where programs find the proxy: above the ports that Linux gives out by itself. */
const port = 61_080

/** Listens inside the sandbox and hands the socket to the process outside, which answers on it from then on. */
const listen = `const server = require('net').createServer().listen(${port}, '127.0.0.1', () => process.send('', server, () => process.exit()))`

/** The program gets neither the channel that this needs nor its variables. Its own are set last: an LD_PRELOAD is for it alone. */
const start =
  'NODE_OPTIONS= "$0" -e "$1" && shift && unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE && exec env -- "$@" 3>&- 4>&-'

/** The words that start a program whose only network is the proxy. */
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
  // What the command starts itself is reached directly, unless a name of that is one of the machine's here.
  const direct = ['localhost', '127.0.0.1', '::1'].filter(
    (name) => !hosts.some((host) => host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '') === name),
  )
  const upper = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: direct.join(',') }
  const lower = Object.entries(upper).map(([name, value]) => [name.toLowerCase(), value])
  return { ...upper, ...Object.fromEntries(lower), NODE_USE_ENV_PROXY: '1' }
}
