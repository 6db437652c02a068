import type { Access } from 'millrace'
import { describe, expect, test } from 'vitest'
import { everywhere, failure, fetched, names, redirects, serves, site, textOf } from './site.test-kit.ts'

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])(
    'with %i is followed, and the result has the final URL',
    async (status) => {
      const here = await site(redirects({ '/': 'b/c?d', '/b/c?d': '../e' }, status))
      expect(await fetched(here.url)).toMatch(`${here.url}/e (200, text/plain)\n`)
      expect(here.asked).toEqual(['/', '/b/c?d', '/e'])
    },
  )

  test('with non-ASCII characters is followed', async () => {
    const here = await site((request, response) => {
      if (request.url !== '/') return serves('here')(request, response)
      response.socket?.end('HTTP/1.1 302 Found\r\nlocation: /caf\u00e9\r\ncontent-length: 0\r\n\r\n')
    })
    expect(await fetched(here.url)).toMatch(`${here.url}/caf%C3%A9 (200`)
  })

  test.each([
    ['http://127.0.0.2:PORT/', 'a loopback address'],
    ['//127.0.0.2:PORT/', 'a loopback address'],
    ['http://0x7f000002:PORT/', 'a loopback address'],
    ['http://[::1]:PORT/', 'a loopback address'],
    ['http://169.254.169.254/latest/meta-data/', 'a link-local address'],
    ['http://10.0.0.1/', 'a private address'],
    ['http://inside.test:PORT/', 'a loopback address'],
    ['http://localhost:PORT/', 'a loopback address'],
  ])('to %s is rejected as %s, and nothing is sent there', async (target, what) => {
    const inside = await site(serves('secret'), { host: everywhere })
    const location = target.replace('PORT', String(inside.port))
    const here = await site(redirects({ '/': '/a', '/a': location }))
    const lookup = names({ 'inside.test': '127.0.0.2', localhost: '127.0.0.2' })
    const message = await failure(here.url, { lookup, timeoutMs: 2_000 })
    expect(message).toContain(`redirects to "${location}": `)
    expect(message).toContain(`${what}, but only public addresses can be fetched`)
    expect([here.asked, inside.connections.made]).toEqual([['/', '/a'], 0])
  })

  test.each([
    ['file:///etc/passwd', 'is not a web page: only http:// and https:// can be fetched'],
    ['ftp://example.com/', 'is not a web page'],
    ['data:text/plain,hello', 'is not a web page'],
    ['javascript:alert(1)', 'is not a web page'],
    ['http://user:hunter2@public.test/', 'must not contain a user name or password'],
    ['http://', 'is not a complete URL'],
  ])('to %s is rejected', async (location, why) => {
    const here = await site(redirects({ '/': location }))
    expect(await failure(here.url)).toContain(why)
  })

  test('to a denied host is rejected before the lookup', async () => {
    const here = await site(redirects({ '/': 'http://b.test/' }))
    const lookup = names({ 'a.test': '127.0.0.1', 'b.test': '127.0.0.1' })
    const checked: Access[] = []
    const checkAccess = async (access: Access) => {
      checked.push(access)
      return 'the rule "deny fetch(b.test)" is against it'
    }
    const message = await failure(`http://a.test:${here.port}/`, { lookup }, { checkAccess })
    expect(message).toBe(
      `"http://a.test:${here.port}/" redirects to "http://b.test/": this is not allowed: the rule "deny fetch(b.test)" is against it`,
    )
    expect(checked).toEqual([{ kind: 'fetch', host: 'b.test' }])
    expect(lookup.asked).toEqual(['a.test'])
  })

  test('is checked by the host as in rules', async () => {
    const other = await site(serves('other'))
    const here = await site(redirects({ '/': `http://B.Test.:${other.port}/` }))
    const hosts: string[] = []
    const checkAccess = async (access: Access) => void hosts.push(access.kind === 'fetch' ? access.host : '')
    const lookup = names({ 'b.test': '127.0.0.1' })
    expect(await textOf(here.url, { lookup }, { checkAccess })).toBe('other')
    expect(hosts).toEqual(['b.test'])
  })

  test('loop is detected', async () => {
    const here = await site(redirects({ '/': '/a', '/a': '/' }))
    expect(await failure(here.url)).toContain('this is a redirect loop. It may need cookies or sign-in')
    expect(here.asked).toEqual(['/', '/a'])
  })

  test('is followed up to the limit', async () => {
    const here = await site((request, response) => {
      const next = Number(request.url?.slice(1)) + 1
      response.writeHead(302, { location: `/${next}` }).end()
    })
    const url = `${here.url}/1`
    expect(await failure(url, { maxRedirects: 2 })).toBe(`"${url}" redirects more than 2 times, last to "/4"`)
    expect(here.asked).toEqual(['/1', '/2', '/3'])
    expect(await failure(url, { maxRedirects: 0 })).toContain('last to "/2"')
  })

  test('without a location is an ordinary response', async () => {
    const here = await site((_, response) => void response.writeHead(302).end())
    expect(await failure(here.url)).toContain('returned 302 Found')
  })

  test('leaves no connection open, even if its body never ends', async () => {
    const here = await site((request, response) => {
      const isAlone = () => here.connections.open.size === 1
      const respond = () => (isAlone() ? serves('here')(request, response) : void setTimeout(respond, 1))
      if (request.url !== '/') return respond()
      response.writeHead(302, { location: '/b' })
      response.write('moved')
    })
    expect(await textOf(here.url)).toBe('here')
    await expect.poll(() => here.connections.open.size).toBe(0)
  })
})

describe('headers', () => {
  test('are sent to the first origin; other origins get only user-agent and accept headers', async () => {
    const other = await site(serves('other'))
    const here = await site(redirects({ '/': '/a', '/a': `${other.url}/` }))
    await fetched(here.url, { headers: { 'X-Api-Key': 'k', 'User-Agent': 'me', accept: 'text/html' } })
    const sent = [...here.requests, ...other.requests].map(({ headers }) => [
      headers['x-api-key'],
      headers['user-agent'],
      headers.accept,
    ])
    expect(sent).toEqual([
      ['k', 'me', 'text/html'],
      ['k', 'me', 'text/html'],
      [undefined, 'me', 'text/html'],
    ])
  })

  test('of a function are computed for every URL, so that credentials stay with their host', async () => {
    const other = await site(serves('other'))
    const here = await site(redirects({ '/': `${other.url}/` }))
    const headers = ({ origin }: URL): Record<string, string> =>
      origin === here.url ? { authorization: 'Bearer secret' } : {}
    await fetched(here.url, { headers })
    expect(here.requests[0]?.headers.authorization).toBe('Bearer secret')
    expect(other.requests[0]?.headers.authorization).toBeUndefined()
    await fetched(other.url, { headers })
    expect(other.requests[1]?.headers.authorization).toBeUndefined()
  })

  test('of the connection cannot be changed', async () => {
    const here = await site(serves('ok'))
    await fetched(here.url, { headers: () => ({ Host: 'evil.test', connection: 'keep-alive', 'x-a': 'b' }) })
    expect(here.requests[0]?.headers).toMatchObject({
      host: `127.0.0.1:${here.port}`,
      connection: 'close',
      'x-a': 'b',
    })
  })

  test('do not include cookies that were set', async () => {
    const here = await site((request, response) => {
      if (request.url !== '/') return serves('here')(request, response)
      response.writeHead(302, { location: '/b', 'set-cookie': 'a=b' }).end()
    })
    await fetched(here.url)
    expect(here.requests[1]?.headers.cookie).toBeUndefined()
  })
})
