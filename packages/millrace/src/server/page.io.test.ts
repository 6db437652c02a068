import { gunzipSync } from 'node:zlib'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { teller } from '../protocols/protocols.test-kit.ts'
import { byToken, type Served, served } from './server.test-kit.ts'

const gzip = { headers: { 'accept-encoding': 'br, gzip' } }

/** Where the page's own files are, as its HTML names them: `./assets/…`. */
async function addressesIn(page: Response): Promise<string[]> {
  return [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
}

async function assetsOf({ ask }: Served): Promise<string[]> {
  return (await addressesIn(await ask('GET', '/'))).map((address) => address.replace(/^\.\//, '/'))
}

describe('the page', () => {
  test('is at the root, and may run and reach nothing but what is its own', async () => {
    const { ask } = served()
    const page = await ask('GET', '/')
    expect(page.status).toBe(200)
    expect(await page.text()).toMatch(/^<!doctype html>/)
    const headers = Object.fromEntries(page.headers)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'permissions-policy':
        'microphone=(self), camera=(), display-capture=(), geolocation=(), hid=(), midi=(), payment=(), serial=(), usb=()',
    })
    expect(headers['content-security-policy']?.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "connect-src 'self'",
      "font-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ])
  })

  test('leaves the policy of everything else as it was, also where there is nothing', async () => {
    const { ask } = served()
    for (const path of ['/healthz', '/threads', '/assets/nothing.js', '/nothing'])
      expect((await ask('GET', path)).headers.get('content-security-policy'), path).toBe(
        "default-src 'none'; frame-ancestors 'none'",
      )
  })

  test('has one script and one style, each in a file of its own, and names them by relative addresses', async () => {
    const { ask } = served()
    const html = await (await ask('GET', '/')).text()
    expect(html.match(/<script\b/g)).toHaveLength(1)
    expect(html).toMatch(/<script type="module" crossorigin src="[^"]+"><\/script>/)
    expect(html).not.toMatch(/<style\b|\sstyle=|\son\w+=/)
    const addresses = await addressesIn(new Response(html))
    expect(addresses.map((address) => address.replace(/-[\w-]{8}\./, '.')).sort()).toEqual([
      './assets/icon.svg',
      './assets/index.css',
      './assets/index.js',
    ])
  })

  test('is small, and so is what is loaded by those who speak only', async () => {
    const { files } = await import('#page')
    const atFirst = ['/', ...(await assetsOf(served()))].map((path) =>
      path === '/' ? 'index.html' : path.slice(1),
    )
    const bytesOf = (isFirst: boolean) =>
      files
        .filter(({ path }) => atFirst.includes(path) === isFirst)
        .reduce((sum, { gzip }) => sum + Buffer.from(gzip, 'base64').length, 0)
    expect(bytesOf(true)).toBeLessThan(61_000)
    expect(bytesOf(false)).toBeLessThan(9_000)
  })

  test('has files that are kept for ever, since their names change with what they say', async () => {
    const server = served()
    const types: unknown[] = []
    for (const path of await assetsOf(server)) {
      const file = await server.ask('GET', path)
      expect(file.status, path).toBe(200)
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(file.headers.get('x-content-type-options')).toBe('nosniff')
      types.push(file.headers.get('content-type'))
      expect(await file.text()).not.toContain('sourceMappingURL')
    }
    expect(types.sort()).toEqual([
      'image/svg+xml',
      'text/css; charset=utf-8',
      'text/javascript; charset=utf-8',
    ])
  })

  test('is asked for each time, and sent only if it is not known already', async () => {
    const { ask } = served()
    const { headers } = await ask('GET', '/')
    expect(headers.get('cache-control')).toBe('no-cache')
    const etag = headers.get('etag') ?? ''
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/)
    for (const known of [etag, `"other", ${etag}`, etag.replace('W/', ''), '*']) {
      const again = await ask('GET', '/', { headers: { 'if-none-match': known } })
      expect(again.status, known).toBe(304)
      expect(await again.text()).toBe('')
      expect(again.headers.get('etag')).toBe(etag)
      expect(again.headers.get('content-security-policy')).toContain('trusted-types')
    }
    for (const known of ['"other"', '', 'W/"other", "another"'])
      expect((await ask('GET', '/', { headers: { 'if-none-match': known } })).status, known).toBe(200)
  })

  test('is gzipped for those who take that, and plain for the others', async () => {
    const { ask } = served()
    const plain = await ask('GET', '/')
    const text = await plain.text()
    for (const accepted of ['gzip', 'br, GZIP;q=0.5', 'deflate, *', 'identity;q=0.5, gzip; q=1']) {
      const zipped = await ask('GET', '/', { headers: { 'accept-encoding': accepted } })
      expect(zipped.headers.get('content-encoding'), accepted).toBe('gzip')
      expect(zipped.headers.get('vary')).toBe('accept-encoding, origin')
      const bytes = new Uint8Array(await zipped.arrayBuffer())
      expect(zipped.headers.get('content-length')).toBe(String(bytes.length))
      expect(gunzipSync(bytes).toString()).toBe(text)
    }
    for (const accepted of ['', 'br', 'gzip;q=0', 'gzip;q=0, *', '*;q=0', 'identity']) {
      const answer = await ask('GET', '/', { headers: { 'accept-encoding': accepted } })
      expect(answer.headers.has('content-encoding'), accepted).toBe(false)
      expect(answer.headers.get('vary')).toBe('accept-encoding, origin')
      expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
      expect(await answer.text()).toBe(text)
    }
  })

  test('HEAD says what GET would, without the rest, over a real connection too', async () => {
    const { ask, app } = served()
    const { url } = await app.listen()
    for (const path of ['/', ...(await assetsOf({ ask } as Served))]) {
      const [got, head] = [await ask('GET', path, gzip), await ask('HEAD', path, gzip)]
      expect([...head.headers]).toEqual([...got.headers])
      expect(await head.text()).toBe('')
      const real = await fetch(url + path, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } })
      expect(real.status).toBe(200)
      for (const name of ['content-length', 'content-encoding', 'content-type', 'etag'])
        expect(real.headers.get(name), `${path} ${name}`).toBe(got.headers.get(name))
    }
  })

  test('is only read', async () => {
    const { ask } = served()
    const refused = await ask('POST', '/', { body: {} })
    expect(refused.status).toBe(405)
    expect(refused.headers.get('allow')).toBe('GET')
  })

  test('is for everybody: whoever is asked to sign in needs a page to do it on', async () => {
    const server = served(teller(), { auth: byToken })
    expect((await server.ask('GET', '/threads')).status).toBe(401)
    for (const path of ['/', ...(await assetsOf(server))])
      expect((await server.ask('GET', path)).status, path).toBe(200)
  })

  test('works below any path that the app is mounted at', async () => {
    const { app } = served()
    const outer = new Hono().mount('/tools/desk', (request) => app.fetch(request))
    const at = 'http://localhost/tools/desk/'
    const addresses = await addressesIn(await outer.request(at))
    expect(addresses).toHaveLength(3)
    for (const address of addresses) expect((await outer.request(new URL(address, at).href)).status).toBe(200)
  })

  test('is not there where nobody wants it', async () => {
    const { files } = await import('#page')
    const { ask } = served(teller(), { page: false })
    for (const path of ['/', ...files.map(({ path }) => `/${path}`)])
      expect((await ask('GET', path)).status, path).toBe(404)
    expect((await ask('GET', '/threads')).status).toBe(200)
  })

  test('is no operation of the API', async () => {
    const { ask } = served()
    const { paths } = (await (await ask('GET', '/openapi.json')).json()) as { paths: object }
    expect(Object.keys(paths)).toContain('/threads')
    expect(Object.keys(paths).filter((path) => path === '/' || path.startsWith('/assets'))).toEqual([])
  })
})
