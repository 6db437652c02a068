import { describe, expect, test } from 'vitest'
import { notPublic } from './addresses.ts'
import type { Lookup } from './resolve.ts'
import { everywhere, failure, fetched, names, serves, site, textOf } from './site.test-kit.ts'

/** Spellings of addresses of this machine and the local network. */
const spellings = [
  ['127.0.0.1', 'a loopback address'],
  ['127.0.0.2', 'a loopback address'],
  ['127.255.255.254', 'a loopback address'],
  ['127.1', 'a loopback address'],
  ['127.0.1', 'a loopback address'],
  ['2130706433', 'a loopback address'],
  ['0x7f000001', 'a loopback address'],
  ['0x7f.1', 'a loopback address'],
  ['0177.0.0.1', 'a loopback address'],
  ['017700000001', 'a loopback address'],
  ['127.0.0.1.', 'a loopback address'],
  ['%31%32%37.0.0.1', 'a loopback address'],
  ['①②⑦.0.0.1', 'a loopback address'],
  ['127。0。0。1', 'a loopback address'],
  ['0', 'a loopback address'],
  ['0.0.0.0', 'a loopback address'],
  ['0.1.2.3', 'a loopback address'],
  ['[::1]', 'a loopback address'],
  ['[::]', 'a loopback address'],
  ['[0:0:0:0:0:0:0:1]', 'a loopback address'],
  ['[::ffff:127.0.0.1]', 'a loopback address'],
  ['[::ffff:7f00:1]', 'a loopback address'],
  ['[0:0:0:0:0:ffff:127.0.0.1]', 'a loopback address'],
  ['[::127.0.0.1]', 'a reserved address'],
  ['[::ffff:0:127.0.0.1]', 'a reserved address'],
  ['[64:ff9b::127.0.0.1]', 'a loopback address'],
  ['[64:ff9b::7f00:1]', 'a loopback address'],
  ['[64:ff9b:1::7f00:1]', 'a reserved address'],
  ['[2002:7f00:1::]', 'a loopback address'],
  ['[2002:a00:1::1]', 'a private address'],
  ['[2001:0:7f00:1::]', 'a reserved address'],
  ['10.0.0.1', 'a private address'],
  ['100.64.0.1', 'a private address'],
  ['100.100.100.200', 'a private address'],
  ['172.16.0.1', 'a private address'],
  ['172.31.255.255', 'a private address'],
  ['192.168.1.1', 'a private address'],
  ['169.254.169.254', 'a link-local address'],
  ['0xa9fea9fe', 'a link-local address'],
  ['[::ffff:169.254.169.254]', 'a link-local address'],
  ['168.63.129.16', 'a cloud metadata address'],
  ['192.0.0.192', 'a reserved address'],
  ['192.0.2.1', 'a reserved address'],
  ['192.88.99.1', 'a reserved address'],
  ['198.18.0.1', 'a reserved address'],
  ['198.51.100.1', 'a reserved address'],
  ['203.0.113.1', 'a reserved address'],
  ['224.0.0.1', 'a reserved address'],
  ['240.0.0.1', 'a reserved address'],
  ['255.255.255.255', 'a reserved address'],
  ['[fd00:ec2::254]', 'a private address'],
  ['[fc00::1]', 'a private address'],
  ['[fe80::1]', 'a link-local address'],
  ['[fec0::1]', 'a private address'],
  ['[ff02::1]', 'a reserved address'],
  ['[100::1]', 'a reserved address'],
  ['[2001:db8::1]', 'a reserved address'],
  ['[3fff::1]', 'a reserved address'],
  ['[5f00::1]', 'a reserved address'],
] as const

describe('an address that is not public', () => {
  test.each(spellings)('as http://%s is rejected as %s, and nothing is sent', async (host, what) => {
    const here = await site(serves('secret'), { host: everywhere })
    const message = await failure(`http://${host}:${here.port}/`, { allow: [], timeoutMs: 2_000 })
    expect(message).toContain(`is ${what}, but only public addresses can be fetched`)
    expect(here.connections.made).toBe(0)
  })

  test.each(spellings)('is rejected if a name resolves to %s', async (host) => {
    const address = URL.parse(`http://${host}/`)?.hostname.replace(/[[\]]/g, '') ?? ''
    const here = await site(serves('secret'), { host: everywhere })
    const lookup = names({ 'public.test': ['93.184.215.14', address] })
    const message = await failure(`http://public.test:${here.port}/`, { allow: [], lookup, timeoutMs: 2_000 })
    expect(message).toMatch(/^public\.test resolves to a .* address/)
    expect(message).not.toContain(address)
    expect(here.connections.made).toBe(0)
  })

  test('is rejected with a zone, as the system may return it', async () => {
    const lookup = names({ 'public.test': 'fe80::1%eth0' })
    expect(await failure('http://public.test/', { lookup })).toContain('resolves to a link-local address')
  })

  test.each(['localhost', 'LocalHost', 'localhost.', 'localhost..', 'a.localhost'])(
    'is rejected by the name %s',
    async (name) => {
      const here = await site(serves('secret'))
      const lookup = names({ localhost: '127.0.0.1', 'a.localhost': '127.0.0.1' })
      const message = await failure(`http://${name}:${here.port}/`, { allow: [], lookup })
      expect(message).toContain('localhost resolves to a loopback address')
      expect(here.connections.made).toBe(0)
    },
  )
})

test.each(['93.184.215.14', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:2800:21f:cb07::1', '2a00:1450::1'])(
  '%s is public',
  (address) => {
    expect(notPublic(address)).toBeUndefined()
  },
)

describe('an allow list', () => {
  const lookup = names({
    localhost: '127.0.0.1',
    'intranet.test': '127.0.0.1',
    'two.test': ['127.0.0.1', '::1'],
  })

  test.each([
    ['an address', 'http://127.0.0.1', ['127.0.0.1']],
    ['an address in another spelling', 'http://0x7f.1', ['127.0.0.1']],
    ['a range', 'http://127.0.0.1', ['127.0.0.0/8']],
    ['a name in a range', 'http://intranet.test', ['127.0.0.0/8']],
    ['a name', 'http://intranet.test', ['intranet.test']],
    ['a name in other letters, with a dot', 'http://LOCALHOST.', ['Localhost']],
    ['a name with several addresses', 'http://two.test', ['two.test']],
    ['IPv4 inside IPv6', 'http://[::ffff:127.0.0.1]', ['127.0.0.1']],
  ])('allows %s', async (_, origin, allow) => {
    const here = await site(serves('inside'))
    expect(await textOf(`${origin}:${here.port}/`, { allow, lookup })).toBe('inside')
  })

  test.each([
    ['another address', 'http://127.0.0.2', ['127.0.0.1']],
    ['an address outside the range', 'http://127.2.0.1', ['127.1.0.0/16']],
    ['another name for the same address', 'http://localhost', ['intranet.test']],
    ['the address of an allowed name', 'http://127.0.0.1', ['intranet.test']],
    ['a name with another address', 'http://two.test', ['127.0.0.1']],
    ['a subdomain', 'http://intranet.test', ['test']],
  ])('does not allow %s', async (_, origin, allow) => {
    const here = await site(serves('secret'), { host: everywhere })
    expect(await failure(`${origin}:${here.port}/`, { allow, lookup })).toContain('only public addresses')
    expect(here.connections.made).toBe(0)
  })
})

test('a name is looked up only once, in case it changes', async () => {
  const first = await site(serves('first'))
  const second = await site(serves('second'), { host: '127.0.0.2', port: first.port })
  let times = 0
  const lookup: Lookup = (_, __, callback) => {
    const address = ++times === 1 ? '127.0.0.1' : '127.0.0.2'
    callback(null, [{ address, family: 4 }])
  }
  expect(await textOf(`http://fickle.test:${first.port}/`, { lookup })).toBe('first')
  expect([times, second.connections.made]).toEqual([1, 0])
})

test('a name with several addresses is reached at the one that responds', async () => {
  const here = await site(serves('second try'))
  const lookup = names({ 'two.test': ['127.0.0.9', '127.0.0.1'] })
  expect(await textOf(`http://two.test:${here.port}/`, { lookup, allow: ['127.0.0.0/8'] })).toBe('second try')
})

test('the server gets the original host name', async () => {
  const here = await site(serves('ok'))
  await fetched(`http://www.test:${here.port}/a?b=c#d`, { lookup: names({ 'www.test': '127.0.0.1' }) })
  expect(here.requests[0]?.headers.host).toBe(`www.test:${here.port}`)
  expect(here.asked).toEqual(['/a?b=c'])
})
