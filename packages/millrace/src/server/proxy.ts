import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { invalidInput } from '../protocol/index.ts'
import { addressOf } from './address.ts'

/** The client address that limits count by. Undefined if there is none, as on a Unix socket. */
export type ClientAddress = (incoming: IncomingMessage) => string | undefined

/**
 * Reads the client address from the connection or, behind trusted proxies, from `x-forwarded-for`.
 * Each proxy appends the address that it saw, so only the rightmost address that is not a trusted
 * proxy counts: the client can forge everything to the left of it. Throws `invalid_input` for an
 * invalid proxy address.
 */
export function clientAddress(trustProxy: boolean | readonly string[] | undefined): ClientAddress {
  if (!trustProxy) return ({ socket }) => addressOf(socket.remoteAddress)
  if (trustProxy === true)
    return (incoming) => addressOf(forwarded(incoming).at(-1)) ?? addressOf(incoming.socket.remoteAddress)
  const isProxy = proxyTest(trustProxy)
  return (incoming) => {
    const path = [...forwarded(incoming), incoming.socket.remoteAddress ?? '']
    const client = path.findLastIndex((address) => !isProxy(address))
    // If that address is invalid, the proxy to the right of it counts.
    return addressOf(path[client]) ?? addressOf(path[client + 1])
  }
}

function forwarded({ headers }: IncomingMessage): string[] {
  const list = [headers['x-forwarded-for'] ?? []].flat().join(',')
  return list.split(',').flatMap((one) => withoutPort(one.trim()) || [])
}

/** Some proxies write `1.2.3.4:5678` and `[::1]:5678`. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
}

function proxyTest(proxies: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    try {
      if (bits === undefined) list.addAddress(address, family)
      else list.addSubnet(address, Number(bits || Number.NaN), family)
    } catch (cause) {
      throw invalidInput(
        'app.listen',
        `trustProxy: '${proxy}' is not an address or a network such as '10.0.0.0/8'`,
        cause,
      )
    }
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
