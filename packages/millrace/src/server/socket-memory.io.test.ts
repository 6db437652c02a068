import { expect, test } from 'vitest'
import { socketClient, teller } from '../protocols/protocols.test-kit.ts'
import { served } from './server.test-kit.ts'

// In a file of its own: garbage that other tests leave would count against the bytes measured here.
test('a socket that resumes from the beginning again and again and reads nothing costs one buffer', async () => {
  const { app } = served(teller())
  const thread = app.thread('long')
  await thread.send('x'.repeat(500_000))
  for await (const _ of thread.follow({ until: 'idle' }));
  const { url } = await app.listen()
  const client = await socketClient(`${url}/threads/long/socket`)
  await client.frame('ready')
  client.ws.pause()
  const before = process.memoryUsage().arrayBuffers
  for (let turn = 0; turn < 150; turn++) client.send({ type: 'resume', after: 0 })
  await new Promise((resolve) => setTimeout(resolve, 300))
  // Each entry is half a megabyte: without a bound it would be 75 of them.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30_000_000)
  client.ws.terminate()
})
