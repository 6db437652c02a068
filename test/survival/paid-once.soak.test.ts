import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { providerSimulator } from '@millrace/simulator'
import { expect, onTestFinished, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import { eventsOf } from './checks.ts'
import { patience, reader } from './conversation.ts'
import { fixedPort, serverProgram, startServer } from './server-process.ts'

test.each([
  ['killed', 'kill'],
  ['shut down', 'terminate'],
] as const)('an answer whose server is %s while it is generated is not requested twice', async (_, end) => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const words = 'It takes its time to say what there is to say. '.repeat(8)
  const steps = words.split(/(?<= )/).flatMap((text) => [{ text }, { pause: 40 }])
  await using sim = await providerSimulator([steps])
  const program = await serverProgram()
  const port = await fixedPort()
  const config = {
    port,
    file: join(folder, 'threads.db'),
    actions: join(folder, 'actions'),
    provider: sim.url,
    leaseMs: 800,
    recoverMs: 100,
  }
  let server = startServer(program, config)
  onTestFinished(() => server.kill())
  await server.ready
  const thread = await client(`http://127.0.0.1:${port}`, { retry: patience }).create({
    id: 't',
    agent: 'kept',
  })
  const follower = reader('follower', thread)
  const seq = await thread.send('Explain it.')
  await follower.until(() => eventsOf(follower.entries, 'text').length > 3)
  await server[end]()
  server = startServer(program, config)
  await follower.until((state) => state.head > seq && nextThreadAction(state).type === 'idle')

  expect(eventsOf(follower.entries, 'run-start')).toMatchObject([{}, { resumes: expect.any(String) }])
  expect(eventsOf(follower.entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
  expect(eventsOf(follower.entries, 'round-retract')).toEqual([])
  const texts = eventsOf(follower.entries, 'text').map(({ text }) => text)
  expect(texts.join('')).toBe(words)
  expect(sim.requests.map(({ method }) => method)).toEqual(['POST', 'GET'])
  expect(sim.requests[1]?.path).toContain('starting_after=')
})
