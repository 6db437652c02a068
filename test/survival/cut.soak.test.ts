import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { converse, patience, reader, readLog } from './conversation.ts'
import { randomPlot } from './plot.ts'
import type { CuttingProxy } from './proxy.ts'
import { cuttingProxy } from './proxy.ts'
import { newSeed, random } from './random.ts'
import { faultsOf } from './verdict.ts'
import type { Post } from './world.ts'
import { openWorld } from './world.ts'

test('clients whose connections are cut again and again read what those read who stayed', async () => {
  const seed = newSeed()
  const plot = randomPlot(seed)
  const world = await openWorld({ plot })
  const { url } = world.posts[0] as Post
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
    read('who stayed, over SSE', url, 'sse'),
    read('who stayed, over a WebSocket', url, 'websocket'),
    read('who was cut off, over SSE', await behindProxy(), 'sse'),
    read('who was cut off, over a WebSocket', await behindProxy(), 'websocket'),
  ]
  const talk = converse({
    id: 't0',
    // What is said goes through a proxy too: an answer that is lost must not make a second message of the first.
    urls: [await behindProxy()],
    random: random(seed),
    goesOn: () => proxies.some(({ cuts }) => cuts() < 15),
  })
  await talk.over
  const head = Math.max(...talk.readers.map(({ state }) => state.head))
  await Promise.all(readers.map((one) => one.until((state) => state.head >= head)))
  const conversation = { ...talk, readers: [...readers, ...talk.readers] }
  const log = await readLog(url, 't0')
  expect(faultsOf({ conversation, log, deeds: world.deeds(), plot })).toEqual([])
})
