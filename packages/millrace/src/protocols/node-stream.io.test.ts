import type { ServerResponse } from 'node:http'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { writeBody } from './node-stream.ts'
import { until } from './protocols.test-kit.ts'

const encoder = new TextEncoder()

/** A server that answers one request with a stream, and a client that has received the headers. */
async function answering(stream: ReadableStream<Uint8Array>, stuckMs = 60_000) {
  const ended = Promise.withResolvers<ServerResponse>()
  const server = createServer(async (_, response) => {
    await writeBody(response, stream, { stuckMs })
    ended.resolve(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const incoming = await new Promise<IncomingMessage>((resolve) =>
    get({ port, host: '127.0.0.1', agent: false }, resolve),
  )
  incoming.on('error', () => {})
  return { incoming, ended: ended.promise }
}

test('the headers are sent before any data, and each chunk as it comes', async () => {
  let pieces: ReadableStreamDefaultController<Uint8Array> | undefined
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      pieces = controller
    },
  })
  const { incoming, ended } = await answering(stream)
  let text = ''
  incoming.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  pieces?.enqueue(encoder.encode('one '))
  await until(() => text === 'one ')
  pieces?.enqueue(encoder.encode('two'))
  pieces?.close()
  await until(() => incoming.complete)
  expect(text).toBe('one two')
  await ended
})

test('the stream is canceled when the client disconnects', async () => {
  const canceled = Promise.withResolvers<void>()
  const { incoming, ended } = await answering(new ReadableStream({ cancel: () => canceled.resolve() }))
  incoming.destroy()
  await canceled.promise
  await ended
})

test('a client that reads nothing is disconnected, without reading the stream ahead', async () => {
  let given = 0
  const canceled = Promise.withResolvers<void>()
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        given++
        controller.enqueue(new Uint8Array(1024 * 1024))
      },
      cancel: () => canceled.resolve(),
    },
    { highWaterMark: 0 },
  )
  const { incoming, ended } = await answering(stream, 40)
  incoming.pause()
  expect((await ended).destroyed).toBe(true)
  await canceled.promise
  expect(given).toBeLessThan(50)
})

test('a stream that fails does not look complete', async () => {
  const { incoming, ended } = await answering(
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encoder.encode('half'))
      },
      pull() {
        throw new Error('broken')
      },
    }),
  )
  incoming.resume()
  await until(() => incoming.destroyed)
  expect(incoming.complete).toBe(false)
  await ended
})
