import { BlockList, isIP } from 'node:net'

/** Kinds of addresses that are not public. */
type NotPublic =
  | 'a loopback address'
  | 'a private address'
  | 'a link-local address'
  | 'a reserved address'
  | 'a cloud metadata address'

/**
 * IPv4 ranges that are not public, from the IANA registry of special-purpose addresses (RFC 6890) and RFC
 * 1112 for 240/4. The last one is Azure's: it is in public space, but answers only machines in that cloud.
 */
const specialV4: readonly (readonly [NotPublic, ...string[]])[] = [
  ['a loopback address', '0.0.0.0/8', '127.0.0.0/8'],
  ['a private address', '10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'],
  ['a link-local address', '169.254.0.0/16'],
  ['a reserved address', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15'],
  ['a reserved address', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ['a cloud metadata address', '168.63.129.16/32'],
]

const specialV6: readonly (readonly [NotPublic, ...string[]])[] = [
  ['a loopback address', '::/127'],
  ['a private address', 'fc00::/7', 'fec0::/10'],
  ['a link-local address', 'fe80::/10'],
  ['a reserved address', '2001::/23', '2001:db8::/32', '3fff::/20'],
]

const listsV4 = specialV4.map(([kind, ...ranges]) => [kind, rangesOf(ranges)] as const)
const listsV6 = specialV6.map(([kind, ...ranges]) => [kind, rangesOf(ranges)] as const)

/**
 * The only range allocated for the public internet:
 * https://www.iana.org/assignments/ipv6-address-space
 */
const globalUnicast = rangesOf(['2000::/3'])

/** Undefined if the address is public. `address` comes from `effectiveAddress`. */
export function notPublic(address: string): NotPublic | undefined {
  if (isIP(address) === 4) return listsV4.find(([, ranges]) => isWithin(ranges, address))?.[0]
  const found = listsV6.find(([, ranges]) => isWithin(ranges, address))?.[0]
  return found ?? (isWithin(globalUnicast, address) ? undefined : 'a reserved address')
}

/**
 * The address that is actually reached: the embedded IPv4 address of mapped, NAT64 and 6to4 IPv6
 * addresses. Without a zone, which is only for link-local addresses.
 */
export function effectiveAddress(address: string): string {
  const [bare = ''] = address.split('%')
  if (isIP(bare) !== 6) return bare
  const groups = groupsOf(bare)
  const head = groups.slice(0, 6).map((group) => group.toString(16))
  // RFC 4291 §2.5.5.2 and RFC 6052 §2.1.
  if (['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'].includes(head.join(':'))) return dotted(groups[6], groups[7])
  // RFC 3056 §2.
  if (head[0] === '2002') return dotted(groups[1], groups[2])
  return bare
}

/** A list of ranges such as `10.0.0.0/8`, or single addresses. Throws if one is invalid. */
export function rangesOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

export function isWithin(ranges: BlockList, address: string): boolean {
  return ranges.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function groupsOf(address: string): number[] {
  // The URL parser normalizes every spelling, including the dotted end of `::ffff:10.0.0.1`.
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [left = [], right = []] = canonical
    .split('::')
    .map((half) => half.split(':').filter(Boolean))
    .map((half) => half.map((group) => Number.parseInt(group, 16)))
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
