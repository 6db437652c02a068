import http from 'node:http'
import { agent } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { failure, fetched, names, serves, site } from './site.test-kit.ts'
import { type WebFetchOptions, webFetch } from './web-fetch.ts'

describe('what a call touches', () => {
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
    'is nothing with %s, which is not fetched either',
    async (url) => {
      expect(await webFetch().access?.({ url } as never)).toEqual([])
      expect(await failure(url)).toMatch(/^"/)
    },
  )
})

describe('an address', () => {
  test.each([
    ['example.com/a', '"example.com/a" is not a whole URL. Write it out, such as https://example.com/page'],
    ['', '"" is not a whole URL'],
    ['http://', '"http://" is not a whole URL'],
    ['http://[::1', 'is not a whole URL'],
    ['http://[fe80::1%25eth0]/', 'is not a whole URL'],
    ['http://127.0.0.1%2f@a.example/', 'must not have a user name'],
    ['http://./', '"http://./" has no host in it'],
    ['localhost:3000', 'is not a web page: only http:// and https:// can be fetched'],
    ['file:///etc/passwd', 'is not a web page'],
    ['ftp://a.example/', 'is not a web page'],
    ['data:text/html,a', 'is not a web page'],
    ['gopher://a.example/', 'is not a web page'],
    ['unix:/var/run/docker.sock', 'is not a web page'],
  ])('such as %s is refused with a sentence', async (url, sentence) => {
    expect(await failure(url)).toContain(sentence)
  })

  test('with a password in it is refused without repeating that', async () => {
    const message = await failure('https://ada:hunter2@a.example/b')
    expect(message).toBe('"https://a.example/b" must not have a user name or a password in it')
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
    [{ headers: { Authorization: 'x' } }, 'give a function of the URL that returns it for yours alone'],
    [{ headers: { cookie: 'x' } }, "must not have 'cookie'"],
    [{ headers: { Host: 'x' } }, "must not have 'Host', which the tool sets itself"],
    [{ headers: { 'a b': 'x' } }, "has 'a b' wrong"],
    [{ headers: { a: 'x\ny' } }, "has 'a' wrong"],
    [{ headers: { a: undefined } }, "has 'a' wrong"],
    [{ lookup: {} }, "the option 'lookup' must be a function"],
    [{ timeout: 1 }, "'timeout' does not exist"],
    ['https://a.example', 'takes one object of options, not a string'],
  ])('that cannot be used is refused: %j', (options, message) => {
    expect(() => webFetch(options as WebFetchOptions)).toThrow(message)
  })
})

test('an agent reads a page, and hears why another cannot be read', async () => {
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
  const told: unknown[] = []
  for await (const event of run) if (event.type === 'tool-result') told.push([event.status, event.output])
  told.sort()
  expect(told).toEqual([
    [
      'failed',
      [
        {
          type: 'text',
          text: expect.stringContaining('The tool failed: inside.test leads to a loopback address'),
        },
      ],
    ],
    ['ok', [{ type: 'text', text: expect.stringMatching(/\n\n# News$/) }]],
    ['rejected', [{ type: 'text', text: expect.stringContaining('offset') }]],
  ])
})

test('a long answer reaches the model whole', () => {
  expect(webFetch({ maxChars: 100_000 }).maxResultChars).toBeGreaterThan(100_000)
})

test('no proxy of the environment is used', async () => {
  const here = await site(serves('direct'))
  const before = http.globalAgent
  try {
    // What Node makes of NODE_USE_ENV_PROXY when it starts.
    http.globalAgent = new http.Agent({ proxyEnv: { HTTP_PROXY: 'http://127.0.0.1:1' } })
    expect(await fetched(here.url)).toContain('direct')
  } finally {
    http.globalAgent = before
  }
})
