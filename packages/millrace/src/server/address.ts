/**
 * The address that limits count by: an IPv4 address unchanged, or the /64 network of an IPv6
 * address, since one host can use every address of its /64 (RFC 4291, 2.5.4). Undefined if it is
 * not an address.
 */
export function addressOf(address: string | undefined): string | undefined {
  const plain =
    address
      ?.trim()
      .replace(/^::ffff:(?=\d+\.)/i, '')
      .replace(/%.*$/, '') ?? ''
  if (/^(?:\d{1,3}\.){3}\d{1,3}$/.test(plain)) return plain
  if (!plain.includes(':') || !URL.canParse(`http://[${plain}]`)) return undefined
  const [left = '', right] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::')
  const groups = left.split(':').filter(Boolean)
  const tail = right?.split(':').filter(Boolean) ?? []
  while (groups.length + tail.length < 8) groups.push('0')
  return `${[...groups, ...tail].slice(0, 4).join(':')}::/64`
}
