import http from 'node:http'
import { agent } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { failure, fetched, names, serves, site } from './site.test-kit.ts'
import { type WebFetchOptions, webFetch } from './web-fetch.ts'

describe('the access of a call', () => {
  test.each([
    ['https://Docs.Example.com:8443/a?b#c', 'docs.example.com'],
    ['http://localhost./', 'localhost'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://[::FFFF:127.0.0.1]:80/', '[::ffff:7f00:1]'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
    ['http:\\\\a.example\\b', 'a.example'],
    [' https://a.example ', 'a.example'],
  ])('is the host of %s', async (url, host) => {
    expect(await webFetch().access?.({ url } as never)).toEqual([{ kind: 'fetch', host }])
  })

  test.each(['file:///etc/passwd', 'nonsense', 'https://user@a.example/'])(
    'is empty for %s, which is not fetched',
    async (url) => {
      expect(await webFetch().access?.({ url } as never)).toEqual([])
      expect(await failure(url)).toMatch(/^"/)
    },
  )
})

describe('a URL', () => {
  test.each([
    ['example.com/a', '"example.com/a" is not a complete URL. Use the form https://example.com/page'],
    ['', '"" is not a complete URL'],
    ['http://', '"http://" is not a complete URL'],
    ['http://[::1', 'is not a complete URL'],
    ['http://[fe80::1%25eth0]/', 'is not a complete URL'],
    ['http://127.0.0.1%2f@a.example/', 'must not contain a user name'],
    ['http://./', '"http://./" has no host'],
    ['localhost:3000', 'is not a web page: only http:// and https:// can be fetched'],
    ['file:///etc/passwd', 'is not a web page'],
    ['ftp://a.example/', 'is not a web page'],
    ['data:text/html,a', 'is not a web page'],
    ['gopher://a.example/', 'is not a web page'],
    ['unix:/var/run/docker.sock', 'is not a web page'],
  ])('such as %s is rejected with an explanation', async (url, sentence) => {
    expect(await failure(url)).toContain(sentence)
  })

  test('with a password is rejected without repeating it', async () => {
    const message = await failure('https://ada:hunter2@a.example/b')
    expect(message).toBe('"https://a.example/b" must not contain a user name or password')
  })
})

describe('an option', () => {
  test.each<[unknown, string]>([
    [{ timeoutMs: 0 }, "the option 'timeoutMs' must be a positive number"],
    [{ maxBytes: 1.5 }, "the option 'maxBytes' must be a whole number"],
    [{ maxChars: 0 }, "the option 'maxChars' must be a whole number"],
    [{ maxRedirects: -1 }, "the option 'maxRedirects' must be a whole number"],
    [{ allow: 'localhost' }, "the option 'allow' must be a list"],
    [{ allow: ['http://localhost'] }, 'without scheme, port or *; not "http://localhost"'],
    [{ allow: ['localhost:80'] }, 'not "localhost:80"'],
    [{ allow: ['*.test'] }, 'not "*.test"'],
    [{ allow: ['10.0.0.0/33'] }, 'not "10.0.0.0/33"'],
    [{ allow: ['10.0.0.0/8/8'] }, 'not "10.0.0.0/8/8"'],
    [{ allow: [''] }, 'not ""'],
    [{ allow: [7] }, 'not 7'],
    [{ headers: 'a: b' }, "the option 'headers' must be an object or a function"],
    [{ headers: { Authorization: 'x' } }, 'pass a function of the URL that returns it only for your hosts'],
    [{ headers: { cookie: 'x' } }, "must not have 'cookie'"],
    [{ headers: { Host: 'x' } }, "must not have 'Host', which the tool sets itself"],
    [{ headers: { 'a b': 'x' } }, "has an invalid 'a b'"],
    [{ headers: { a: 'x\ny' } }, "has an invalid 'a'"],
    [{ headers: { a: undefined } }, "has an invalid 'a'"],
    [{ lookup: {} }, "the option 'lookup' must be a function"],
    [{ timeout: 1 }, "'timeout' does not exist"],
    ['https://a.example', 'takes one object of options, not a string'],
  ])('that is invalid is rejected: %j', (options, message) => {
    expect(() => webFetch(options as WebFetchOptions)).toThrow(message)
  })
})

test('an agent reads a page, and learns why another cannot be read', async () => {
  const here = await site(serves('<h1>News</h1>'))
  const calls = [
    ['web_fetch', { url: here.url }],
    ['web_fetch', { url: `http://inside.test:${here.port}/` }],
    ['web_fetch', { url: here.url, offset: -1 }],
  ] as const
  const run = agent({
    model: scriptedModel(script.parallel(calls, 'Done.')),
    tools: [webFetch({ allow: ['127.0.0.1'], lookup: names({ 'inside.test': '127.0.0.2' }) })],
  }).stream('Read them.')
  const results: unknown[] = []
  for await (const event of run) if (event.type === 'tool-result') results.push([event.status, event.output])
  results.sort()
  expect(results).toEqual([
    [
      'failed',
      [
        {
          type: 'text',
          text: expect.stringContaining('The tool failed: inside.test resolves to a loopback address'),
        },
      ],
    ],
    ['ok', [{ type: 'text', text: expect.stringMatching(/\n\n# News$/) }]],
    ['rejected', [{ type: 'text', text: expect.stringContaining('offset') }]],
  ])
})

test('a long result reaches the model whole', () => {
  expect(webFetch({ maxChars: 100_000 }).maxResultChars).toBeGreaterThan(100_000)
})

test('a proxy from the environment is not used', async () => {
  const here = await site(serves('direct'))
  const before = http.globalAgent
  try {
    // The effect of NODE_USE_ENV_PROXY at startup.
    http.globalAgent = new http.Agent({ proxyEnv: { HTTP_PROXY: 'http://127.0.0.1:1' } })
    expect(await fetched(here.url)).toContain('direct')
  } finally {
    http.globalAgent = before
  }
})
