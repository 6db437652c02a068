import { expect, test } from 'vitest'
import { socketClient, storyteller } from '../protocols/protocols.test-kit.ts'
import { served } from './server.test-kit.ts'

// A separate file, since garbage of other tests would distort the measurement.
test('a socket that keeps resuming from the start and reads nothing uses one buffer', async () => {
  const { app } = served(storyteller())
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
  // Each entry has half a megabyte: without a limit it would be 75 MB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30_000_000)
  client.ws.terminate()
})
