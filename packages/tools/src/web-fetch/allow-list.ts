import { isIP } from 'node:net'
import type { Problem } from 'millrace/internal'
import { nameOf } from 'millrace/internal'
import { effectiveAddress, isWithin, rangesOf } from './addresses.ts'
import { addressOf } from './target.ts'

/** Hosts and addresses that may be fetched although they are not public. */
export interface AllowList {
  host(host: string): boolean
  address(address: string): boolean
}

/** `allow` contains host names, addresses and ranges, already checked by `allowProblem`. */
export function allowListOf(allow: readonly string[]): AllowList {
  const names = new Set(allow.filter((entry) => !isRange(entry)).map(nameIn))
  const ranges = rangesOf(allow.filter(isRange).map(bare))
  return {
    host: (host) => names.has(host),
    address: (address) => isWithin(ranges, effectiveAddress(address)) || isWithin(ranges, address),
  }
}

export function allowProblem(value: unknown): Problem {
  if (!Array.isArray(value))
    return `must be a list such as ['localhost', '10.1.0.0/16'], not ${nameOf(value)}`
  const wrong = value.find((entry) => typeof entry !== 'string' || !(isRange(entry) || nameIn(entry)))
  return (
    wrong !== undefined &&
    `must contain host names, addresses or ranges such as 10.1.0.0/16, without scheme, port or *; not ${nameOf(wrong)}`
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

/** The host name as normalized in a URL; empty if it is not just a host name. */
function nameIn(entry: string): string {
  if (!/^[^\s/:@?#*\\[\]]+$/.test(entry)) return ''
  const url = URL.parse(`http://${entry}/`)
  return url ? addressOf(url) : ''
}
