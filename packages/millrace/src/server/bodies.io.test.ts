import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { until } from '../protocols/protocols.test-kit.ts'
import { served } from './server.test-kit.ts'

async function errorOf(response: Response) {
  return { status: response.status, ...(await response.json()).error }
}

describe('a request body', () => {
  test('that is not valid JSON is rejected with the reason', async () => {
    const { ask } = served()
    for (const [body, says] of [
      ['{"id": "one"', 'JSON'],
      ['{id: 1}', 'JSON'],
      ['nonsense', 'JSON'],
      ['[]', 'an array'],
      ['"text"', 'a string'],
      ['null', 'null'],
      [`{"metadata":${'{"a":'.repeat(100)}1${'}'.repeat(101)}`, '100 levels deep'],
      [`${'['.repeat(100_000)}`, '100 levels deep'],
    ] as const)
      expect(await errorOf(await ask('POST', '/threads', { body })), body).toMatchObject({
        status: 400,
        code: 'invalid_input',
        message: expect.stringContaining(says),
      })
  })

  test('that is not UTF-8 is rejected', async () => {
    const { app } = served()
    const request = new Request('http://localhost/threads', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array([0x22, 0xff, 0xfe, 0x22]),
    })
    expect(await errorOf(await app.fetch(request))).toMatchObject({
      status: 400,
      message: expect.stringContaining('UTF-8'),
    })
  })

  test('needs a JSON content type', async () => {
    const { ask } = served()
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'jsonish',
      '',
    ]) {
      const response = await ask('POST', '/threads', { body: '{}', headers: { 'content-type': type } })
      expect(await errorOf(response), type).toMatchObject({ status: 415 })
    }
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      'application/x+json',
    ])
      expect(
        (await ask('POST', '/threads', { body: '{}', headers: { 'content-type': type } })).status,
        type,
      ).toBe(201)
  })

  test('with an unknown field is rejected with a suggestion', async () => {
    const { ask } = served()
    expect(await errorOf(await ask('POST', '/threads', { body: { metdata: {} } }))).toMatchObject({
      status: 400,
      message: expect.stringContaining("did you mean 'metadata'?"),
    })
    expect((await ask('POST', '/threads', { body: '{"__proto__": {"id": "x"}}' })).status).toBe(400)
    expect((await ask('POST', '/threads', { body: '{"constructor": 1}' })).status).toBe(400)
  })

  test('that is too large is rejected, with or without content-length', async () => {
    const { ask, app } = served(undefined, { limits: { bodyBytes: 100 } })
    const body = { metadata: { long: 'x'.repeat(100) } }
    expect(await errorOf(await ask('POST', '/threads', { body }))).toMatchObject({
      status: 413,
      message: expect.stringContaining('100 bytes'),
    })
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new TextEncoder().encode('          '))
      },
    })
    const request = new Request('http://localhost/threads', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    } as RequestInit)
    expect((await app.fetch(request)).status).toBe(413)
    expect(pulled).toBeLessThan(30)
  })

  test('that arrives byte by byte is read as a whole', async () => {
    const { app, ask } = served()
    const { url } = await app.listen()
    const answered = new Promise<number | undefined>((resolve, reject) => {
      const asking = request(`${url}/threads`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      })
      asking.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
      for (const byte of '{"id":"bytewise"}') asking.write(byte)
      asking.end()
    })
    expect(await answered).toBe(201)
    await until(async () => (await ask('GET', '/threads/bytewise')).status === 200)
  })
})
