import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { addressOf } from './address.ts'
import { clientAddress } from './proxy.ts'

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8::6', '2001:db8:0:0::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['unknown', undefined],
  ['', undefined],
  [undefined, undefined],
])('%s counts as %s', (address, counted) => {
  expect(addressOf(address)).toBe(counted)
})

function incoming(remoteAddress: string, forwarded?: string): IncomingMessage {
  return { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as never
}

test('a header that anyone can send counts only behind a trusted proxy', () => {
  const request = incoming('192.0.2.1', '198.51.100.1, 198.51.100.2')
  expect(clientAddress(false)(request)).toBe('192.0.2.1')
  expect(clientAddress(true)(request)).toBe('198.51.100.2')
  expect(clientAddress(['10.0.0.0/8'])(request)).toBe('192.0.2.1')
  expect(clientAddress(['192.0.2.1'])(request)).toBe('198.51.100.2')
  expect(clientAddress(['192.0.2.1', '198.51.100.2'])(request)).toBe('198.51.100.1')
})

test.each([
  ['::ffff:10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['10.0.0.1', '[2001:db8::1]:4711', '2001:db8:0:0::/64'],
  ['10.0.0.1', '198.51.100.1, unknown, 10.0.0.2', '10.0.0.2'],
  ['10.0.0.1', undefined, '10.0.0.1'],
  ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
])('behind the proxy %s, a request with x-forwarded-for %s counts for %s', (proxy, forwarded, counted) => {
  expect(clientAddress(['10.0.0.0/8'])(incoming(proxy, forwarded))).toBe(counted)
})

test.each(['proxy', '10.0.0.0/99', '10.0.0.0/'])('%s is not a valid proxy', (proxy) => {
  expect(() => clientAddress([proxy])).toThrow(`trustProxy: '${proxy}'`)
})
