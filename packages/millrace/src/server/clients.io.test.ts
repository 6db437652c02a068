import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { serve } from './serve.ts'

test('with clients: false, a server answers only health checks, on any address', async () => {
  const app = serve({ agents: agent({ model: scriptedModel([]) }), clients: false })
  onTestFinished(() => app.close())
  const { port } = await app.listen({ host: '0.0.0.0' })
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  const paths = ['/healthz', '/', '/threads', '/agents', '/openapi.json']
  expect(await Promise.all(paths.map(status))).toEqual([200, 404, 404, 404, 404])
  // Not at once if the machine is busy.
  await expect.poll(() => status('/readyz')).toBe(200)
})
