import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ScriptRound } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { connectionReset, gate } from './agent.test-kit.ts'
import { agent } from './agent.ts'

const notice = '\n[stream interrupted, answer restarts]\n'
/** The second round fails after a few words. */
const rounds: readonly ScriptRound[] = [
  [{ text: 'Let me see. ' }, { call: 'look', input: {} }],
  [{ text: 'The answer is 4' }, { error: connectionReset }],
  'The answer is 42.',
]
const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })

function stream(script: readonly ScriptRound[] = rounds) {
  const clock = fakeClock()
  const run = agent({ model: scriptedModel(script), tools: [look], clock }).stream('go')
  return { run, clock }
}

describe('text()', () => {
  test('yields text as it is generated, and a separate line before retracted text comes again', async () => {
    const { run, clock } = stream()
    const words = await clock.until(Array.fromAsync(run.text()))
    expect(words.join('')).toBe(`Let me see. The answer is 4${notice}The answer is 42.`)
    expect(words).toContain(notice)
  })

  test('has no such line if no text of the round was yielded', async () => {
    const { run, clock } = stream([
      [{ reasoning: 'Let me think.' }, { error: connectionReset }],
      [{ error: connectionReset }],
      'The answer is 42.',
    ])
    const words = clock.until(Array.fromAsync(run.text()))
    const types = await clock.until(Array.fromAsync(run, ({ type }) => type))
    expect(types).toContain('round-retract')
    expect((await words).join('')).toBe('The answer is 42.')
  })

  test('is the same for plans', async () => {
    const clock = fakeClock()
    const model = scriptedModel([[{ text: 'Fir' }, { error: connectionReset }], 'First this.'])
    const plan = agent({ model, clock }).plan('go')
    expect((await clock.until(Array.fromAsync(plan.text()))).join('')).toBe(`Fir${notice}First this.`)
    expect((await Array.fromAsync(plan.text({ hold: true }))).join('')).toBe('First this.')
  })

  test('a run that resumes in the middle of a round has no line: this reader yielded none of its text', async () => {
    const model = scriptedModel(['The whole answer.'])
    const run = agent({ model }).resume([
      { type: 'run-start', version: 2, runId: 'r', agent: 'a', input: [{ role: 'user', content: 'go' }] },
      { type: 'round-start', round: 1, model: 'm' },
      { type: 'text', text: 'The wh' },
    ])
    expect((await Array.fromAsync(run.text())).join('')).toBe('The whole answer.')
  })
})

describe('text({ hold: true })', () => {
  test('yields the text of a round at its end, and never retracted text', async () => {
    const { run, clock } = stream()
    expect(await clock.until(Array.fromAsync(run.text({ hold: true })))).toEqual([
      'Let me see. ',
      'The answer is 42.',
    ])
  })

  test('yields nothing of a round that may still be retracted', async () => {
    const run = agent({ model: scriptedModel(script.hanging('I could go')) }).stream('go')
    const words = run.text({ hold: true })[Symbol.asyncIterator]()
    const next = words.next()
    for await (const event of run) if (event.type === 'text') break
    await new Promise(setImmediate)
    expect(await Promise.race([next, 'nothing yet'])).toBe('nothing yet')
    run.cancel()
    expect(await next).toEqual({ done: false, value: 'I could go' })
    expect((await run.result).text).toBe('I could go')
    expect(await words.next()).toMatchObject({ done: true })
  })

  test('yields text as it is generated once a tool of its round has started', async () => {
    const slow = gate()
    const steps = [{ text: 'One. ' }, { call: 'gate' }, { text: 'Two. ' }, { hang: true }] as const
    const run = agent({ model: scriptedModel([steps]), tools: [slow.tool] }).stream('go')
    const words = run.text({ hold: true })[Symbol.asyncIterator]()
    expect(await words.next()).toMatchObject({ value: 'One. ' })
    expect(await words.next()).toMatchObject({ value: 'Two. ' })
    run.cancel()
  })

  test('yields the remaining text of a run that fails, like result.text', async () => {
    const clock = fakeClock()
    const model = scriptedModel(() => [{ text: 'Half' }, { error: connectionReset }])
    const run = agent({ model, clock, retry: { attempts: 2 } }).stream('go')
    const words = await clock.until(Array.fromAsync(run.text({ hold: true })))
    const { outcome, text } = await run.result
    expect({ outcome, text, words }).toEqual({ outcome: 'failed', text: 'Half', words: ['Half'] })
  })
})

describe('text({ onRetract })', () => {
  test('is called with the remaining text, in order, and no line is added', async () => {
    const { run, clock } = stream()
    const seen: string[] = []
    const page = { textContent: '' }
    const reading = (async () => {
      const words = run.text({
        onRetract(kept) {
          seen.push(`= ${kept}`)
          page.textContent = kept
        },
      })
      for await (const word of words) {
        seen.push(word)
        page.textContent += word
      }
    })()
    await clock.until(reading)
    expect(page.textContent).toBe('Let me see. The answer is 42.')
    expect(seen.join('|')).toBe('Let me see. |The answer i|s 4|= Let me see. |The answer i|s 42.')
  })

  test('rejects next() and ends the iteration if the callback throws', async () => {
    const { run, clock } = stream()
    const words = run.text({
      onRetract() {
        throw new Error('the page is gone')
      },
    })
    const iterator = words[Symbol.asyncIterator]()
    const rest = async () => {
      for (;;) if ((await iterator.next()).done) return 'done'
    }
    await expect(clock.until(rest())).rejects.toThrow('the page is gone')
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    expect((await clock.until(run.result)).outcome).toBe('completed')
  })
})

test.each<[string, unknown, RegExp]>([
  ['an unknown option', { held: true }, /text\(\): the option 'held' does not exist: did you mean 'hold'\?/],
  ['a hold of another type', { hold: 'yes' }, /'hold' must be true or false, not a string/],
  ['an onRetract of another type', { onRetract: true }, /'onRetract' must be a function, not a boolean/],
  ['another type', 7, /text\(\) takes an object of options, not a number/],
  ['null', null, /text\(\) takes an object of options, not null/],
  ['hold and onRetract', { hold: true, onRetract() {} }, /either hold or onRetract: with hold, yielded text/],
])('text() throws on %s', (_, options, message) => {
  const run = agent({ model: scriptedModel(['Hi.']) }).stream('go')
  const call = () => run.text(options as never)
  expect(call).toThrow(message)
  expect(call).toThrow(expect.objectContaining({ code: 'invalid_input', op: 'run.text' }))
})
