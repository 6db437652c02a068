import { isIP } from 'node:net'
import type { Problem } from 'millrace/internal'
import { nameOf } from 'millrace/internal'
import { isWithin, meantAddress, rangesOf } from './addresses.ts'
import { addressOf } from './target.ts'

/** What may be fetched although it is not public. */
export interface Allowed {
  host(host: string): boolean
  address(address: string): boolean
}

/** `allow` holds host names, addresses and ranges of them, as `allowProblem` has checked. */
export function allowedOf(allow: readonly string[]): Allowed {
  const names = new Set(allow.filter((entry) => !isRange(entry)).map(nameIn))
  const ranges = rangesOf(allow.filter(isRange).map(bare))
  return {
    host: (host) => names.has(host),
    address: (address) => isWithin(ranges, meantAddress(address)) || isWithin(ranges, address),
  }
}

export function allowProblem(value: unknown): Problem {
  if (!Array.isArray(value))
    return `must be a list such as ['localhost', '10.1.0.0/16'], not ${nameOf(value)}`
  const wrong = value.find((entry) => typeof entry !== 'string' || !(isRange(entry) || nameIn(entry)))
  return (
    wrong !== undefined &&
    `must hold host names, addresses and ranges such as 10.1.0.0/16, without scheme, port or *; not ${nameOf(wrong)}`
  )
}

function isRange(entry: string): boolean {
  const [address = '', bits, ...rest] = bare(entry).split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

function bare(entry: string): string {
  return entry.replace(/^\[([^\]]*)\]$/, '$1')
}

/** The name as it stands in a URL; empty if it would not stand there alone. */
function nameIn(entry: string): string {
  if (!/^[^\s/:@?#*\\[\]]+$/.test(entry)) return ''
  const url = URL.parse(`http://${entry}/`)
  return url ? addressOf(url) : ''
}
