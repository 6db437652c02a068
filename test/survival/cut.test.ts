import { expect, onTestFailed, test } from 'vitest'
import { client } from '../../src/client/index.ts'
import { allOver, converse, patience, reader, readLog } from './conversation.ts'
import { randomPlot } from './plot.ts'
import { cuttingProxy } from './proxy.ts'
import { newSeed, random } from './random.ts'
import { faultsOf } from './verdict.ts'
import type { Post } from './world.ts'
import { openWorld } from './world.ts'

test('clients whose connections are cut again and again read what those read who stayed', async () => {
  const seed = newSeed()
  const plot = randomPlot(seed)
  const world = await openWorld({ plot })
  onTestFailed(() => void process.stderr.write(`SURVIVAL_SEED=${seed}\n${world.complaints()}`))
  const { url } = world.posts[0] as Post
  const proxies = await Promise.all(
    ['sse', 'websocket', 'user'].map((name) => cuttingProxy(url, random(seed + name))),
  )
  const [bySse, bySocket, byUser] = proxies as [(typeof proxies)[0], (typeof proxies)[0], (typeof proxies)[0]]
  const enough = () => proxies.every(({ cuts }) => cuts() >= 15)
  try {
    await client(url).create({ id: 't0', agent: 'chat' })
    const follow = (name: string, address: string, transport: 'sse' | 'websocket') =>
      reader(name, client(address, { transport, retry: patience }).thread('t0'))
    const readers = [
      follow('who stayed', url, 'sse'),
      follow('who was cut off over SSE', bySse.url, 'sse'),
      follow('who was cut off over a WebSocket', bySocket.url, 'websocket'),
    ]
    const talk = converse({
      id: 't0',
      // What the user says goes through a proxy too: an answer that is lost must not become a second message.
      urls: [byUser.url],
      random: random(seed),
      goesOn: () => !enough(),
    })
    await allOver([talk], 60_000)
    const { head } = talk.readers[0]?.state ?? { head: 0 }
    await Promise.all(readers.map((one) => one.until((state) => state.head >= head)))
    const conversation = { ...talk, readers: [...readers, ...talk.readers] }
    const log = await readLog(url, 't0')
    expect(faultsOf({ conversation, log, deeds: world.deeds(), plot })).toEqual([])
    await Promise.all(conversation.readers.map((one) => one.stop()))
  } finally {
    for (const proxy of proxies) await proxy.close()
    await world.close()
  }
})
