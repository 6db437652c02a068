import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { textOf } from 'millrace'
import { describe, expect, test } from 'vitest'
import { until } from '../../packages/millrace/src/protocols/protocols.test-kit.ts'
import type { Client, Wire } from './clients.ts'
import { cutAt } from './cut-at.ts'
import { installed } from './install.ts'
import { homeOf, serveMill, start } from './model-clients.test-kit.ts'

const story = 'The wheel turns as long as water runs, and the stones grind all night.'

const atTheEnd = 'ght.'

/**
 * Where an answer is cut, by the delta that the client receives last. The first is in the middle of
 * the second text, when the server's tool has run.
 */
export const places = ['rns as', 'I grin', 'The wh', atTheEnd]

interface Options {
  readonly wires?: readonly Wire[]
  /** Where the answer is cut: see `places`. */
  readonly cuts?: readonly string[]
}

/** What every client must be able to do, in each of its formats. */
export async function clientScenarios(client: Client, { wires = client.wires, cuts = places }: Options = {}) {
  const program = (await installed(client.name)) ?? ''

  describe.skipIf(!program).each(wires)(`${client.name} over %s`, (wire) => {
    test('prints the answer', async () => {
      const mill = await serveMill(() => [{ text: story }])
      const { exit, output } = await start(client, 'Tell me.', on(mill.url)).ended
      expect(output).toContain(story)
      expect(exit).toBe(0)
    })

    test('runs its own tool, and the run continues with the result', async () => {
      const mill = await serveMill(({ messages }) => {
        const last = messages.at(-1)
        if (last?.role !== 'tool') return [client.shell('echo corn > a.txt; cat a.txt')]
        return `It has ${textOf(last).includes('corn') ? 'corn in it' : 'nothing in it'}.`
      })
      const options = on(mill.url)
      const { exit, output } = await start(client, 'Write it.', options).ended
      expect(output).toContain('It has corn in it.')
      expect(readFileSync(join(options.home.work, 'a.txt'), 'utf8')).toBe('corn\n')
      expect(await mill.threads()).toHaveLength(1)
      expect(exit).toBe(0)
    })

    test('runs two tools at once with one of the server, which runs once', async () => {
      const mill = await serveMill(({ messages }) => {
        const results = messages.filter(({ role }) => role === 'tool').map(textOf)
        if (results.length > 0) return `There are ${results.length}: ${results.at(-1)}.`
        return [
          client.shell('echo corn >> a.txt'),
          client.shell('echo rye >> b.txt'),
          { call: 'grind', input: {} },
        ]
      })
      const options = on(mill.url)
      const { exit, output } = await start(client, 'Write both.', options).ended
      expect(output).toContain('There are 3: flour 1.')
      expect(filesIn(options.home.work)).toEqual(['corn\n', 'rye\n'])
      expect(mill.grinds()).toBe(1)
      expect(await mill.threads()).toHaveLength(1)
      expect(exit).toBe(0)
    })

    test('shows what the model thinks', async () => {
      const mill = await serveMill(() => [{ reasoning: 'Water comes first.' }, { text: story }])
      const { output } = await start(client, 'Think.', { ...on(mill.url), isVerbose: true }).ended
      expect(output).toContain('Water comes first.')
      expect(output).toContain(story)
    })

    test('shows the error of the provider', async () => {
      const error = { code: 'invalid_input', message: 'the race is dry' } as const
      const mill = await serveMill(() => [{ error }])
      const { exit, output } = await start(client, 'Fail.', on(mill.url)).ended
      expect(output).toContain('the race is dry')
      expect(exit).not.toBe(0)
    })

    test('stops the run on Ctrl-C', async () => {
      const mill = await serveMill(() => [{ text: 'Hm.' }, { hang: true }], { graceMs: 10 })
      const { ended, interrupt } = start(client, 'Muse.', on(mill.url))
      await until(() => mill.requests.length > 0)
      interrupt()
      await expect.poll(mill.outcomes).toEqual(['canceled'])
      await ended
    })

    const cutsHere = cuts.filter((text) => text !== atTheEnd || !client.withoutSession?.includes(wire))

    test.each(cutsHere)(
      "gets the whole answer if it is cut at '%s', and no tool runs twice",
      async (text) => {
        const mill = await serveMill(({ messages }) =>
          messages.some(({ role }) => role === 'tool')
            ? story
            : [{ text: 'I grind.' }, { call: 'grind', input: {} }],
        )
        await using proxy = await cutAt(mill.port, text)
        const { exit, output } = await start(client, 'Grind.', on(proxy.url)).ended
        expect(output).toContain(story)
        expect(proxy.isCut()).toBe(true)
        expect(mill.grinds()).toBe(1)
        expect(await mill.threads()).toHaveLength(1)
        expect(exit).toBe(0)
      },
    )

    test.skipIf(client.repeatsCalls)(
      'runs its tools once if the answer is cut between two calls',
      async () => {
        const calls = [
          { ...client.shell('echo corn >> a.txt'), id: 'call_a' },
          { ...client.shell('echo rye >> b.txt'), id: 'call_b' },
        ]
        const mill = await serveMill(({ messages }) => {
          const done = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
          const open = calls.filter(({ id }) => !done.includes(id))
          return open.length > 0 ? open : story
        })
        await using proxy = await cutAt(mill.port, 'call_b')
        const options = on(proxy.url)
        const { exit, output } = await start(client, 'Write both.', options).ended
        expect(output).toContain(story)
        expect(proxy.isCut()).toBe(true)
        expect(filesIn(options.home.work)).toEqual(['corn\n', 'rye\n'])
        expect(exit).toBe(0)
      },
    )

    test('continues its session in the same thread', async () => {
      const mill = await serveMill(({ messages }) => {
        const asked = messages.filter(({ role }) => role === 'user').map(textOf)
        return `Asked ${asked.filter((text) => /First\.|Second\./.test(text)).length} times.`
      })
      const options = on(mill.url)
      await start(client, 'First.', options).ended
      const { output } = await start(client, 'Second.', { ...options, continues: true }).ended
      expect(output).toContain('Asked 2 times.')
      expect(await mill.threads()).toHaveLength(1)
    })

    function on(url: string) {
      return { program, wire, home: homeOf(client, url) }
    }
  })
}

function filesIn(folder: string): string[] {
  return ['a.txt', 'b.txt'].map((name) => readFileSync(join(folder, name), 'utf8'))
}
