import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sized } from '../../../../test/size.ts'
import type { Message, ModelRequest, RunEvent } from '../protocol/index.ts'
import { findUnpaired, foldLog, textOf, transcriptOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { Run } from './run.ts'
import { summarize } from './summarize.ts'

const tooLong: ScriptRound = [{ error: { code: 'context_overflow', message: 'prompt is too long' } }]

/**
 * A conversation as letters: a system, user or assistant message, or a number of tool calls.
 */
const conversationLetters = fc.array(fc.constantFrom('s', 'u', 'u', 'a', '1', '2', '3'), { maxLength: 14 })

function conversation(letters: readonly string[]): Message[] {
  const messages: Message[] = letters.flatMap((letter, at): Message[] => {
    if (letter === 's') return [{ role: 'system', content: `system ${at}` }]
    if (letter === 'u') return [{ role: 'user', content: `user ${at}` }]
    if (letter === 'a') return [{ role: 'assistant', content: [{ type: 'text', text: `assistant ${at}` }] }]
    const ids = Array.from({ length: Number(letter) }, (_, index) => `call_${at}_${index}`)
    return [
      {
        role: 'assistant',
        content: ids.map((callId) => ({ type: 'tool-call', callId, name: 'echo', input: {} })),
      },
      ...ids.map(
        (callId): Message => ({
          role: 'tool',
          callId,
          name: 'echo',
          content: [{ type: 'text', text: callId }],
        }),
      ),
    ]
  })
  const last = messages.at(-1)?.role
  return last === 'user' || last === 'tool' ? messages : [...messages, { role: 'user', content: 'the last' }]
}

test('for any conversation and any cut, the request is valid and the log is complete', async () => {
  await fc.assert(
    fc.asyncProperty(
      conversationLetters,
      fc.array(fc.nat({ max: 24 }), { minLength: 2, maxLength: 2 }),
      fc.integer({ min: 1, max: 2 }),
      async (letters, keeps, overflows) => {
        const input = conversation(letters)
        const model = scriptedModel([...Array(overflows).fill(tooLong), 'Done.'])
        const next = keeps.values()
        const compact = () => ({ keep: next.next().value ?? 0, summary: 'In short.' })
        const run = agent({ model, system: 'Be brief.', tools: [echo], compact }).stream(input)
        const events = await collect(run)
        expect(of(events, 'run-end')).toHaveLength(1)

        const request = input.findLast(({ role }) => role === 'user')
        for (const { messages } of model.requests) {
          expect(findUnpaired(messages)).toBeUndefined()
          expect(messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
          expect(messages.filter(({ role }) => role === 'system')).toHaveLength(
            1 + input.filter(({ role }) => role === 'system').length,
          )
          if (request)
            expect(messages.some((message) => textOf(message).includes(textOf(request)))).toBe(true)
        }
        const sizes = model.requests.map(({ messages }) => messages.length)
        for (const [at, size] of sizes.slice(1).entries()) expect(size).toBeLessThanOrEqual(sizes[at] ?? 0)
        const whole = transcriptOf(foldLog(events))
        expect(whole.slice(0, input.length)).toEqual(input)
        expect(of(events, 'summary').length).toBe(model.requests.length - 1)
      },
    ),
    { numRuns: sized(500) },
  )
})

describe.each(['overflow', 'limit'] as const)(
  'a run that is compacted because of %s, interrupted at any event',
  (reason) => {
    const steps = 9
    const step = tool({
      name: 'step',
      description: 'Does the next thing',
      input: z.object({ number: z.number() }),
      repeat: 'safe',
      run: ({ number }) => `did ${number} ${'and so on '.repeat(20)}`,
    })
    const cap = 1500

    /** A call of a retracted and regenerated round has a new id. */
    const plain = <Value>(value: Value): Value =>
      JSON.parse(JSON.stringify(value).replace(/call_(\d+)_\d+/g, 'call_$1'))

    /**
     * Takes one step after the other, based on the last result in the prompt. Stateless, so that it
     * behaves the same in another process.
     */
    function worker() {
      return scriptedModel(({ messages }: ModelRequest): ScriptRound => {
        const size = JSON.stringify(plain(messages)).length
        if (reason === 'overflow' && size > cap) return tooLong
        const done = /^did (\d+)/.exec(textOf(messages.at(-1) as Message))?.[1] ?? '0'
        const usage = { usage: { inputTokens: size } }
        const number = Number(done) + 1
        if (number > steps) return [{ text: 'All done.' }, usage]
        return [{ text: `Step ${number}.` }, { call: 'step', input: { number }, id: `call_${number}` }, usage]
      })
    }

    /** Records how far it has read. */
    const clerk = () =>
      scriptedModel(({ messages }) => {
        const numbers = [...textOf(messages.at(-1) as Message).matchAll(/(?:did|up to) (\d+)/g)]
        return [{ text: `Done up to ${numbers.at(-1)?.[1]}.` }, { usage: { inputTokens: 7 } }]
      })

    function startRun(start: (worker: ReturnType<typeof make>) => Run) {
      const model = worker()
      return { model, run: start(make(model)) }
    }

    const make = (model: ReturnType<typeof worker>) =>
      agent({
        model,
        tools: [step],
        compact: summarize({ model: clerk(), keepChars: 300 }),
        ...(reason === 'limit' && { maxContextTokens: cap }),
      })

    test('continues with the remaining requests', async () => {
      const { model, run } = startRun((it) => it.stream('Do it all.'))
      const log: RunEvent[] = await collect(run)
      expect(await run.result).toMatchObject({ outcome: 'completed', text: 'All done.' })
      expect(of(log, 'summary').length).toBeGreaterThan(1)

      for (let length = 1; length < log.length; length++) {
        const cut: RunEvent[] = JSON.parse(JSON.stringify(log.slice(0, length)))
        const state = foldLog(cut)
        const resumed = startRun((it) => it.resume(cut))
        expect(await resumed.run.result).toMatchObject({ outcome: 'completed', text: 'All done.' })
        const whole = [...cut, ...(await collect(resumed.run))]
        expect(of(plain(whole), 'tool-result').map(({ callId }) => callId)).toEqual(
          Array.from({ length: steps }, (_, at) => `call_${at + 1}`),
        )
        // The length of the conversation is lost if a round is interrupted after a call started.
        const kept =
          state.phase === 'generating' && [...state.calls.values()].some(({ attempts }) => attempts > 0)
        if (reason === 'limit' && kept) continue
        const { requests } = resumed.model
        expect(plain(requests)).toEqual(plain(model.requests.slice(model.requests.length - requests.length)))
        expect(plain(transcriptOf(foldLog(whole)))).toEqual(plain(transcriptOf(foldLog(log))))
      }
    })
  },
)
