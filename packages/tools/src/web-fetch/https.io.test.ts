import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { certificateFor } from './certificate.test-kit.ts'
import { failure, fetched, listen, names, redirects, serves, site } from './site.test-kit.ts'

const trusted = getCACertificates('default')
afterEach(() => setDefaultCACertificates(trusted))

/** A server for `secure.test`; `trust` adds its certificate to the trusted ones. */
async function secureSite({ trust = false, host = 'secure.test', expired = false } = {}) {
  const { key, cert } = certificateFor(host, { expired })
  if (trust) setDefaultCACertificates([...trusted, cert])
  const asked: (string | undefined)[] = []
  const server = createServer({ key, cert }, (request, response) => {
    asked.push(request.headers.host)
    serves('<p>secure')(request, response)
  })
  const { port } = await listen(server)
  return { port, asked }
}

const lookup = names({ 'secure.test': '127.0.0.1', 'other.test': '127.0.0.1' })

test.each(['secure.test', 'SECURE.test.'])('a page at https://%s is read', async (host) => {
  const { port, asked } = await secureSite({ trust: true })
  expect(await fetched(`https://${host}:${port}/`, { lookup })).toMatch(/\(200, text\/html\)\n.*\n\nsecure$/)
  expect(asked).toEqual([`secure.test:${port}`])
})

test('an untrusted certificate is explained, and no request is sent', async () => {
  const { port, asked } = await secureSite()
  expect(await failure(`https://secure.test:${port}/`, { lookup })).toBe(
    `the certificate of secure.test:${port} is not trusted here (DEPTH_ZERO_SELF_SIGNED_CERT)`,
  )
  expect(asked).toEqual([])
})

test('a certificate for another name is explained', async () => {
  const { port } = await secureSite({ trust: true })
  expect(await failure(`https://other.test:${port}/`, { lookup })).toContain('is for another name')
})

test('an expired certificate is explained', async () => {
  const { port } = await secureSite({ trust: true, expired: true })
  expect(await failure(`https://secure.test:${port}/`, { lookup })).toBe(
    `the certificate of secure.test:${port} has expired`,
  )
})

test('a server without https is explained', async () => {
  const here = await site(serves('plain'))
  expect(await failure(`https://secure.test:${here.port}/`, { lookup })).toMatch(
    /Check whether it supports https on that port$/,
  )
})

test('a redirect from http to https is followed', async () => {
  const { port } = await secureSite({ trust: true })
  const here = await site(redirects({ '/': `https://secure.test:${port}/` }))
  expect(await fetched(here.url, { lookup })).toContain(`https://secure.test:${port}/ (200`)
})
