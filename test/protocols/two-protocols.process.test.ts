import { describe, expect, onTestFinished, test } from 'vitest'
import { connect, ended, until } from './answers.test-kit.ts'
import { story } from './desk.ts'
import { drivers } from './drivers/index.ts'

const pairs = drivers.flatMap((first, index) =>
  drivers.slice(index + 1).map((second) => ({ first, second, name: `${first.name} and ${second.name}` })),
)

describe.each(pairs)('$name', ({ first, second }) => {
  test('one thread is used by both at once', async () => {
    const { server, protocol } = await connect(first)
    const other = await second.connect(server)
    onTestFinished(() => other.close())
    const answer = await protocol.send('Please charge me.')
    await until(answer, ({ text }) => text.length > 20)
    await other.open(await protocol.threadId())
    const followed = await other.resume()
    const [one, two] = await Promise.all([ended(answer), ended(followed)])
    expect(one).toMatchObject({ text: expect.stringContaining(story), end: 'completed' })
    expect(two).toMatchObject({ text: expect.stringContaining(story), end: 'completed' })
    expect((await ended(await other.send('Do both.'))).text).toContain('Everything is done.')
    expect(server.actions().filter(({ tool }) => tool === 'charge')).toHaveLength(1)
  })
})
