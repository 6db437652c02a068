import { client } from 'millrace/client'
import { describe, expect, test } from 'vitest'
import { connect, ended, until } from './answers.test-kit.ts'
import { story } from './desk.ts'
import { drivers } from './drivers/index.ts'
import type { Answer, ProtocolClient } from './protocol-client.ts'
import { isRunning } from './test-server.test-kit.ts'

// What every protocol must do, with its official client and a real server process.

async function askToPay(protocol: ProtocolClient) {
  const answer = await protocol.send('Please pay.')
  expect((await asked(answer)).asks).toEqual(['pay'])
  return answer
}

const asked = (answer: Answer) => until(answer, ({ asks }) => asks.length > 0)

describe.each(drivers)('$name', (driver) => {
  const { without = [] } = driver

  test.skipIf(without.includes('deltas'))('text arrives while it is generated', async () => {
    const { protocol } = await connect(driver)
    const answer = await protocol.send('Tell a story.')
    const { text, end } = await until(answer, ({ text }) => text.length > 20)
    expect(end).toBeUndefined()
    expect(story.startsWith(text)).toBe(true)
    expect(await ended(answer)).toMatchObject({ text: story, end: 'completed' })
  })

  test('two tools run at the same time', async () => {
    const { server, protocol } = await connect(driver)
    const { text, results, end } = await ended(await protocol.send('Do both.'))
    expect({ text, end }).toEqual({ text: 'Both. Everything is done.', end: 'completed' })
    if (!without.includes('results')) expect([...results].sort()).toEqual(['left', 'right'])
    const parts = server.actions().map(({ part }) => part)
    expect(parts).toEqual(['begin', 'begin', 'end', 'end'])
  })

  test('a call that is approved runs once', async () => {
    const { server, protocol } = await connect(driver)
    const answer = await askToPay(protocol)
    expect(server.actions()).toEqual([])
    const { text, end } = await ended(await answer.decide(true))
    expect(text).toContain('Everything is done.')
    expect(end).toBe('completed')
    expect(server.actions()).toEqual([{ tool: 'pay', part: 'end' }])
  })

  test('a call that is denied never runs, and the model is informed', async () => {
    const { server, protocol } = await connect(driver)
    const answer = await askToPay(protocol)
    const { text, end } = await ended(await answer.decide(false))
    expect(text).toContain('Nothing was paid.')
    expect(end).toBe('completed')
    expect(server.actions()).toEqual([])
  })

  test('canceling in the middle of a tool ends its process', async () => {
    const { server, protocol } = await connect(driver)
    const answer = await protocol.send('Please wait.')
    await expect.poll(() => server.actions()[0]?.pid).toBeGreaterThan(0)
    const pid = server.actions()[0]?.pid as number
    expect(isRunning(pid)).toBe(true)
    await answer.cancel()
    await expect.poll(() => isRunning(pid)).toBe(false)
    await expect
      .poll(
        async () =>
          (
            await client(server.url)
              .thread(await protocol.threadId())
              .state()
          ).status,
      )
      .toBe('idle')
    expect((await ended(answer)).end).toMatch(/canceled|cut/)
    // The conversation continues.
    expect(await ended(await protocol.send('Do both.'))).toMatchObject({ end: 'completed' })
  })

  test('an answer that was cut off is received completely', async () => {
    const { server, protocol } = await connect(driver)
    const answer = await protocol.send('Please charge me.')
    await until(answer, ({ text }) => text.length > 20)
    await answer.cut()
    const resumed = await protocol.resume()
    const { text, end } = await ended(resumed)
    expect(end).toBe('completed')
    expect(text.endsWith(story.slice(-200))).toBe(true)
    expect(server.actions()).toEqual([{ tool: 'charge', part: 'end' }])
  })

  test('an answer survives kill -9 of the server, and no finished tool runs twice', async () => {
    const { server, protocol } = await connect(driver)
    const answer = await protocol.send('Please charge me.')
    await until(answer, ({ text }) => text.length > 20)
    await Promise.all([server.restart(), answer.cut()])
    const { text, end } = await ended(await protocol.resume())
    expect(end).toBe('completed')
    expect(text.endsWith(story.slice(-200))).toBe(true)
    expect(server.actions()).toEqual([{ tool: 'charge', part: 'end' }])
  })

  test('a failure has the form of the protocol', async () => {
    const { protocol } = await connect(driver)
    const { end, error } = await ended(await protocol.send('Please fail.'))
    expect(end).toBe('failed')
    expect(error).toContain('the model is broken')
    expect(await protocol.wrong()).toMatch(driver.rejection)
  })

  test('another protocol decides, and this one shows what follows', async () => {
    const { server, protocol } = await connect(driver)
    const answer = await askToPay(protocol)
    const thread = client(server.url).thread(await protocol.threadId())
    const [request] = (await thread.state()).approvals
    await thread.approve(request?.callId as string, { approved: true })
    const { end } = await until(answer, () => false)
    // A protocol whose answer ends with the question reads on.
    const { text } = await ended(end === 'waiting' ? await protocol.resume() : answer)
    expect(text).toContain('Everything is done.')
    expect(server.actions()).toEqual([{ tool: 'pay', part: 'end' }])
  })

  test('an answer that another protocol asked for is shown while it is generated', async () => {
    const { server, protocol } = await connect(driver)
    const thread = await client(server.url).create({ agent: 'desk' })
    await thread.send('Hello.')
    await expect.poll(async () => (await thread.state()).status).toBe('idle')
    await protocol.open(thread.id)
    await thread.send('Tell a story.')
    const answer = await protocol.resume()
    expect(await ended(answer)).toMatchObject({ text: expect.stringContaining(story), end: 'completed' })
    // And it can be continued here.
    const { text } = await ended(await protocol.send('Do both.'))
    expect(text).toContain('Everything is done.')
  })
})
