import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serves, site } from '../../web-fetch/site.test-kit.ts'
import { idIn, testShell } from '../shell.test-kit.ts'
import { shell } from '../shell.ts'
import { folder, hasSandbox, openDescriptors } from './sandbox.test-kit.ts'

/** Prints the response of the proxy. */
const fetching = (url: string) =>
  `node -e 'require("http").get({ host: "127.0.0.1", port: new URL(process.env.http_proxy).port, path: "${url}" }, (r) => r.pipe(process.stdout))'`

/** The same without the proxy. */
const connecting = (target: string) =>
  `node -e 'require("net").connect(${target}).on("connect", () => { console.log("connected"); process.exit() }).on("error", (e) => console.log(e.code))'`

describe.skipIf(!hasSandbox)('in a sandbox with a list of hosts', () => {
  test('only these hosts are reached, over http and through a tunnel', async () => {
    const here = await site(serves('from outside'))
    await using box = testShell({
      sandbox: 'required',
      timeoutMs: 100_000,
      network: [`localhost:${here.port}`],
    })
    const tunnel = `node -e 'require("http").request({ host: "127.0.0.1", port: new URL(process.env.HTTPS_PROXY).port, method: "CONNECT", path: "localhost:${here.port}" }).on("connect", (r, s) => { s.write("GET /tunnel HTTP/1.0\\r\\n\\r\\n"); s.pipe(process.stdout) }).end()'`
    expect(await box.run({ command: fetching(`http://localhost:${here.port}/plain`) })).toContain(
      'from outside',
    )
    expect(await box.run({ command: tunnel })).toContain('from outside')
    expect(here.asked).toEqual(['/plain', '/tunnel'])
    const denied = await box.run({ command: `${fetching('http://example.com/')}; exit 1` })
    expect(denied).toContain(`example.com is not allowed from this sandbox. Allowed: localhost:${here.port}.`)
    expect(denied).toContain(
      `[The sandbox denied this, not the system: example.com cannot be reached from here, only localhost:${here.port}. Continue without, or ask the user to allow it.]`,
    )
  })

  test.skipIf(!process.allowedNodeEnvironmentFlags.has('--use-env-proxy'))(
    'Node uses the proxy automatically',
    async () => {
      const here = await site(serves('from outside'))
      await using box = testShell({
        sandbox: 'required',
        timeoutMs: 100_000,
        network: [`localhost:${here.port}`],
      })
      const line = `node -e 'fetch("http://localhost:${here.port}/").then((r) => r.text()).then(console.log)'`
      expect(await box.run({ command: line })).toContain('from outside')
    },
  )

  test('there is no way around the proxy', async () => {
    const here = await site(serves('from outside'))
    const path = join(folder('/tmp'), 'out.sock')
    const server = createServer().listen(path)
    await once(server, 'listening')
    await using box = testShell({
      sandbox: 'required',
      timeoutMs: 100_000,
      network: [`localhost:${here.port}`, '*'],
    })
    const ways = [
      `{ host: "127.0.0.1", port: ${here.port} }`,
      `{ host: "192.0.2.1", port: 80 }`,
      `{ host: "localhost", port: ${here.port} }`,
      `{ path: "${path}" }`,
    ]
    for (const way of ways) expect(await box.run({ command: connecting(way) })).not.toContain('connected')
    expect(await box.run({ command: 'ls /sys/class/net 2> /dev/null; cat /proc/net/route | wc -l' })).toMatch(
      /\b1\n/,
    )
    expect(here.connections.made).toBe(0)
    server.close()
  })

  test('servers of the command itself are reached directly', async () => {
    await using box = testShell({ sandbox: 'required', timeoutMs: 100_000, network: ['registry.test'] })
    const serve = `require("http").createServer((q, r) => r.end("own")).listen(8080, async () => { console.log(await (await fetch("http://localhost:8080")).text()); process.exit() })`
    expect(await box.run({ command: `node -e '${serve}'` })).toMatch(/^own\n/)
  })

  test('exit code, signal, arguments, variables and descriptors of a command are unchanged', async () => {
    await using box = testShell({ sandbox: 'required', timeoutMs: 100_000, network: ['registry.test'] })
    expect(await box.run({ command: 'exit 7' })).toContain('[exit code 7 ')
    expect(await box.run({ command: 'kill -TERM $$' })).toContain('[exit code 143 (SIGTERM) ')
    // stderr is a socket; any other would be ours.
    const line = 'ls -l /proc/self/fd | grep -c socket:; yes | head -n 1'
    expect(await box.run({ command: line })).toMatch(/^1\ny\n\[exit code 0/)
    expect(await box.run({ command: 'env' })).not.toContain('NODE_CHANNEL')
    const argv = { command: ['sh', '-c', 'echo "$1 $MINE"', 'sh', 'a  b'], env: { MINE: 'c  d' } }
    expect(await box.run(argv)).toContain('a  b c  d\n')
    expect(await box.run({ command: ['no-such-program'] })).toContain('[exit code 127 ')
  })

  test('the model learns what a program that ignores the proxy needs', async () => {
    await using box = testShell({ sandbox: 'required', timeoutMs: 100_000, network: ['registry.test'] })
    const text = await box.run({ command: 'exec 3<>/dev/tcp/registry.test/80' })
    expect(text).toContain('only registry.test can be reached, and only through the proxy in')
  })

  test('background commands have it until they end, and leave no connection', async () => {
    const here = await site((_, response) => void response.write('started'))
    await using box = testShell({
      sandbox: 'required',
      timeoutMs: 100_000,
      network: [`localhost:${here.port}`],
    })
    const line = fetching(`http://localhost:${here.port}/`)
    const started = await box.run({ command: line, background: true })
    expect(started).toContain('other commands cannot reach it over the network')
    const id = idIn(started)
    if (!started.startsWith('started')) expect(await box.poll({ id, wait_ms: 60_000 })).toContain('started')
    expect(here.connections.open.size).toBe(1)
    await box.poll({ id, stop: true })
    await expect.poll(() => here.connections.open.size).toBe(0)
    const denied = await box.run({ command: `${fetching('http://example.com')}; exit 1`, background: true })
    const end = denied.includes('exit code') ? denied : await box.poll({ id: idIn(denied), wait_ms: 60_000 })
    expect(end + denied).toContain('example.com cannot be reached')
  })

  test('several commands at once are isolated, and leave no descriptor open', async () => {
    const here = await site(serves('from outside'))
    await using box = testShell({
      sandbox: 'required',
      timeoutMs: 100_000,
      network: [`localhost:${here.port}`],
    })
    await box.run({ command: 'true' })
    const before = openDescriptors()
    const texts = await Promise.all(
      [1, 2, 3, 4].map((n) => box.run({ command: fetching(`http://localhost:${here.port}/${n}`) })),
    )
    for (const text of texts) expect(text).toContain('from outside')
    expect(here.asked.toSorted()).toEqual(['/1', '/2', '/3', '/4'])
    await expect.poll(() => here.connections.open.size).toBe(0)
    await expect.poll(openDescriptors).toBeLessThanOrEqual(before)
  })
})

test('invalid hosts are rejected with an explanation', () => {
  const misuse = (network: unknown) => () => shell({ workspace: '.', network: network as never })
  for (const wrong of ['https://example.com', 'a/b', '*.1.2.3.4', 'a*b.com', '', 'example.com:port', 7])
    expect(misuse(['good.test', wrong])).toThrow(
      "shell: the option 'network' must contain hosts such as packages.example.org, *.example.com or localhost:8080",
    )
  expect(misuse('example.com')).toThrow('must be true, false or a list of hosts, not "example.com"')
  expect(() => shell({ workspace: '.', sandbox: 'off', network: ['a.test'] })).toThrow('needs the sandbox')
  for (const right of [true, false, [], ['*'], ['[::1]:80'], ['10.0.0.1', 'münchen.test:8443']])
    expect(misuse(right)).not.toThrow()
})
