import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { problemsOf } from './checks.ts'
import { converse, patience, reader, readLog } from './conversation.ts'
import type { CuttingProxy } from './proxy.ts'
import { cuttingProxy } from './proxy.ts'
import { newSeed, random } from './random.ts'
import { randomScenario } from './scenario.ts'
import type { Server } from './setup.ts'
import { openSetup } from './setup.ts'

test('clients whose connections are cut repeatedly read the same as clients that stay connected', async () => {
  const seed = newSeed()
  const scenario = randomScenario(seed)
  const setup = await openSetup({ scenario })
  const { url } = setup.servers[0] as Server
  const proxies: CuttingProxy[] = []
  const behindProxy = async () => {
    const proxy = await cuttingProxy(url, random(`${seed} ${proxies.length}`))
    proxies.push(proxy)
    return proxy.url
  }
  await client(url).create({ id: 't0', agent: 'chat' })
  const read = (name: string, address: string, transport: 'sse' | 'websocket') =>
    reader(name, client(address, { transport, retry: patience }).thread('t0'))
  const readers = [
    read('connected over SSE', url, 'sse'),
    read('connected over a WebSocket', url, 'websocket'),
    read('cut off over SSE', await behindProxy(), 'sse'),
    read('cut off over a WebSocket', await behindProxy(), 'websocket'),
  ]
  const talk = converse({
    id: 't0',
    // Messages go through a proxy too: a lost response must not send a message twice.
    urls: [await behindProxy()],
    random: random(seed),
    continues: () => proxies.some(({ cuts }) => cuts() < 15),
  })
  await talk.ended
  const head = Math.max(...talk.readers.map(({ state }) => state.head))
  await Promise.all(readers.map((one) => one.until((state) => state.head >= head)))
  const conversation = { ...talk, readers: [...readers, ...talk.readers] }
  const log = await readLog(url, 't0')
  expect(problemsOf({ conversation, log, actions: setup.actions(), scenario })).toEqual([])
})
