import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { storyteller } from '../protocols/protocols.test-kit.ts'
import { byToken, type Served, served } from './server.test-kit.ts'

const gzip = { headers: { 'accept-encoding': 'br, gzip' } }

/** The URLs of the page's files as they occur in its HTML: `./assets/…`. */
async function addressesIn(page: Response): Promise<string[]> {
  return [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
}

async function assetsOf({ ask }: Served): Promise<string[]> {
  return (await addressesIn(await ask('GET', '/'))).map((address) => address.replace(/^\.\//, '/'))
}

describe('the page', () => {
  test('is served at the root, with a strict content security policy', async () => {
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

  test('does not change the policy of other responses', async () => {
    const { ask } = served()
    for (const path of ['/healthz', '/threads', '/assets/nothing.js', '/nothing'])
      expect((await ask('GET', path)).headers.get('content-security-policy'), path).toBe(
        "default-src 'none'; frame-ancestors 'none'",
      )
  })

  test('has one script element and one style file, with relative URLs', async () => {
    const { ask } = served()
    const html = await (await ask('GET', '/')).text()
    expect(html.match(/<script\b/g)).toHaveLength(1)
    expect(html).toMatch(/<script type="module" crossorigin src="[^"]+"><\/script>/)
    expect(html).not.toMatch(/<style\b|\sstyle=|\son\w+=/)
    const addresses = await addressesIn(new Response(html))
    expect(
      addresses.filter((address) => !/^\.\/assets\/[\w-]+-[\w-]{8}\.(?:js|css|svg)$/.test(address)),
    ).toEqual([])
    expect(addresses.filter((address) => address.endsWith('.css'))).toHaveLength(1)
  })

  test('is small, and so are the files that are loaded on demand', async () => {
    const { files } = await import('#page')
    const atFirst = ['/', ...(await assetsOf(served()))].map((path) =>
      path === '/' ? 'index.html' : path.slice(1),
    )
    const bytesOf = (isFirst: boolean) =>
      files
        .filter(({ path }) => path !== 'standalone.html' && atFirst.includes(path) === isFirst)
        .reduce((sum, { gzip }) => sum + Buffer.from(gzip, 'base64').length, 0)
    expect(bytesOf(true)).toBeLessThan(80_000)
    expect(bytesOf(false)).toBeLessThan(60_000)
  })

  test('serves the page for exports, which is one file and has its own policy', async () => {
    const { ask } = served()
    const response = await ask('GET', '/standalone.html')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    const html = await response.text()
    expect(gzipSync(html).length).toBeLessThan(72_000)
    expect(html).not.toMatch(/\ssrc=|https?:\/\/(?!www\.w3\.org)[\w.]+\/[^)]*\.(?:js|css)/)
    const [, policy = ''] = /<meta http-equiv="content-security-policy" content="([^"]*)">/.exec(html) ?? []
    const hashIn = (tag: RegExp) =>
      `'sha256-${createHash('sha256')
        .update(tag.exec(html)?.[1] ?? '')
        .digest('base64')}'`
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src ${hashIn(/<script type="module">(.*?)<\/script>/s)}`,
      `style-src ${hashIn(/<style>(.*?)<\/style>/s)}`,
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ])
    // It has no code that could ask a server.
    expect(html).not.toMatch(/\bfetch\(|WebSocket|XMLHttpRequest|sendBeacon/)
  })

  test('has immutable files, whose names contain a hash', async () => {
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
    expect([...new Set(types)].sort()).toEqual([
      'image/svg+xml',
      'text/css; charset=utf-8',
      'text/javascript; charset=utf-8',
    ])
  })

  test('is revalidated each time, and sent only if it has changed', async () => {
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

  test('is compressed if the client accepts gzip', async () => {
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

  test('has the same headers for HEAD as for GET, also over a real connection', async () => {
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

  test('only supports GET', async () => {
    const { ask } = served()
    const rejected = await ask('POST', '/', { body: {} })
    expect(rejected.status).toBe(405)
    expect(rejected.headers.get('allow')).toBe('GET')
  })

  test('is public, since users sign in on it', async () => {
    const server = served(storyteller(), { auth: byToken })
    expect((await server.ask('GET', '/threads')).status).toBe(401)
    for (const path of ['/', ...(await assetsOf(server))])
      expect((await server.ask('GET', path)).status, path).toBe(200)
  })

  test('works below any path where the app is mounted', async () => {
    const { app } = served()
    const outer = new Hono().mount('/tools/desk', (request) => app.fetch(request))
    const at = 'http://localhost/tools/desk/'
    const addresses = await addressesIn(await outer.request(at))
    expect(addresses.length).toBeGreaterThan(2)
    for (const address of addresses) expect((await outer.request(new URL(address, at).href)).status).toBe(200)
  })

  test('can be turned off', async () => {
    const { files } = await import('#page')
    const { ask } = served(storyteller(), { page: false })
    for (const path of ['/', ...files.map(({ path }) => `/${path}`)])
      expect((await ask('GET', path)).status, path).toBe(404)
    expect((await ask('GET', '/threads')).status).toBe(200)
  })

  test('is not part of openapi.json', async () => {
    const { ask } = served()
    const { paths } = (await (await ask('GET', '/openapi.json')).json()) as { paths: object }
    expect(Object.keys(paths)).toContain('/threads')
    expect(Object.keys(paths).filter((path) => path === '/' || path.startsWith('/assets'))).toEqual([])
  })
})
