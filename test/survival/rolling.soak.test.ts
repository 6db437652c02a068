import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import { eventsOf } from './checks.ts'
import { patience, reader } from './conversation.ts'
import { runWithFaults } from './faults.ts'
import { replace } from './replace.ts'
import { messageText } from './scenario.ts'
import type { Server } from './setup.ts'
import { openSetup } from './setup.ts'

test('servers that are replaced one after the other, as for a new version, lose and repeat nothing', async () => {
  const { log, actions } = await runWithFaults({
    threads: 6,
    // It never has to expire: a thread that is handed over can be claimed at once.
    leaseMs: 30_000,
    recoverMs: 50,
    async inject({ servers, moment }) {
      for (let times = 0; times < 8; times++) {
        await moment(150)
        await replace(servers[times % 2] as Server)
      }
    },
  })
  const starts = eventsOf(log, 'run-start')
  expect(starts.filter(({ resumes }) => resumes).length).toBeGreaterThan(0)
  expect(starts.filter(({ losses }) => losses)).toEqual([])
  expect(actions.filter(({ attempt }) => attempt > 1)).toEqual([])
  expect(eventsOf(log, 'tool-result').filter(({ status }) => status === 'unknown')).toEqual([])
})

test('a server shuts down although its threads get messages through another server all the time', async () => {
  const setup = await openSetup({
    scenario: () => [{ text: 'So it is. '.repeat(40) }],
    servers: [{}, {}],
    leaseMs: 30_000,
    recoverMs: 50,
  })
  const [going, staying] = setup.servers as [Server, Server]
  for (let times = 0; times < 4; times++) {
    const own = client(going.url, { retry: patience })
    const ids = Array.from({ length: 6 }, (_, index) => `t${times}.${index}`)
    const threads = await Promise.all(ids.map((id) => own.create({ id })))
    await Promise.all(threads.map((thread) => thread.send(messageText(thread.id, 1))))
    let isTalking = true
    // Several at once for each thread, so that messages always arrive during the handover.
    const talkers = [...ids, ...ids, ...ids].map(async (id) => {
      const thread = client(staying.url, { retry: patience }).thread(id)
      while (isTalking) await thread.send(messageText(id, 2), { mode: 'steer' })
    })
    await delay(20)
    await replace(going)
    isTalking = false
    await Promise.all(talkers)
    for (const id of ids) {
      const one = reader(id, client(staying.url, { retry: patience }).thread(id))
      await one.until((state) => state.head > 1 && nextThreadAction(state).type === 'idle')
      expect(eventsOf(one.entries, 'run-start').filter(({ losses }) => losses)).toEqual([])
    }
  }
})
