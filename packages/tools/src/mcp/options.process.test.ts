import { describe, expect, test } from 'vitest'
import { type McpOptions, mcp } from '../mcp.ts'

const invalid: [unknown, string][] = [
  [undefined, 'mcp() takes { command } or { url }, not undefined'],
  [{}, "mcp() needs { command: 'npx', args: […] } to start a server, or { url: 'https://…' } to reach one"],
  [
    { command: 'x', url: 'http://x' },
    'mcp() takes a command or a url, not both: call it twice for two servers',
  ],
  [{ command: '' }, "mcp(): the option 'command' must be text, not empty"],
  [{ command: 'x', args: 'y' }, "mcp(): the option 'args' must be an array of strings"],
  [{ command: 'x', env: { A: 1 } }, "mcp(): the option 'env' must have only string values"],
  [{ command: 'x', headers: {} }, "mcp(): the option 'headers' does not exist"],
  [{ command: 'x', timeout: 1 }, "mcp(): the option 'timeout' does not exist: did you mean 'timeoutMs'?"],
  [{ url: 'file:///etc/passwd' }, "mcp(): the option 'url' must be a URL with http:// or https://"],
  [
    { url: 'https://a:b@x.test' },
    "mcp(): the option 'url' must not contain a user name or password: use 'headers'",
  ],
  [
    { url: 'https://x.test', headers: { 'Mcp-Session-Id': '1' } },
    "mcp(): the option 'headers' must not have 'Mcp-Session-Id': the protocol sets it",
  ],
  [{ url: 'https://x.test', headers: { 'a b': 'c' } }, "mcp(): the option 'headers' cannot be sent"],
  [
    { url: 'https://x.test', headers: { a: 1 } },
    "mcp(): the option 'headers' must have only string values, but 'a' is not a string",
  ],
]

describe('invalid options are rejected before anything is started', () => {
  test.each(invalid)('%j', async (options, message) => {
    const failure = await mcp(options as McpOptions).catch((error: Error) => error)
    expect(failure).toMatchObject({ code: 'invalid_input' })
    expect((failure as Error).message).toContain(message)
  })
})
