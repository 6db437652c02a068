import { expect, test } from 'vitest'
import { gatewayAgents } from './gateway.ts'

const open = async (model: string | undefined, env = {}) =>
  Object.entries(await gatewayAgents(undefined, { gateway: true, ...(model && { model }) }, env))

const namesIn = async (model: string | undefined, env = {}) => (await open(model, env)).map(([name]) => name)

test.each([
  ['claude-sonnet-5', ['claude-sonnet-5']],
  ['anthropic/claude-sonnet-5', ['claude-sonnet-5', 'anthropic/claude-sonnet-5']],
  ['groq/openai/gpt-oss-120b', ['openai/gpt-oss-120b', 'groq/openai/gpt-oss-120b']],
  ['http://127.0.0.1:8000/v1#org/model', ['org/model']],
  ['claude-opus-5, gpt-5.2', ['claude-opus-5', 'gpt-5.2']],
  ['claude-opus-5|gpt-5.2,simulator', ['claude-opus-5', 'simulator']],
  // The second one has only the name that tells it from the first.
  ['openai/gpt-5.2,openrouter/gpt-5.2', ['gpt-5.2', 'openai/gpt-5.2', 'openrouter/gpt-5.2']],
])('--gateway --model %s serves models under the names %j', async (model, names) => {
  expect(await namesIn(model)).toEqual(names)
})

test('both names of a model are the same agent', async () => {
  const [[, short], [, long]] = (await open('openai/gpt-5.2')) as [[string, unknown], [string, unknown]]
  expect(short).toBe(long)
})

test('without --model, MILLRACE_MODEL or the detected model is served', async () => {
  expect(await namesIn(undefined, { MILLRACE_MODEL: 'simulator,gpt-5.2' })).toEqual(['simulator', 'gpt-5.2'])
  expect(await namesIn(undefined, { ANTHROPIC_API_KEY: 'k' })).toEqual([expect.stringMatching(/^claude-/)])
})

test.each([
  [undefined, { model: 'gpt-5.2,gpt-5.2' }, /--model has two models named 'gpt-5\.2'/],
  [undefined, { model: 'gpt-5.2,' }, /--model gpt-5\.2, has an empty name/],
  [undefined, { model: '|gpt-5.2' }, /--model \|gpt-5\.2 has an empty name/],
  [undefined, { model: 'simulator', system: 'x' }, /--gateway cannot be combined with --system/],
  [undefined, { model: 'simulator', tools: 'x.ts' }, /--gateway cannot be combined with --tools/],
  [
    'agents.ts',
    { model: 'simulator' },
    /--gateway cannot be combined with an agents file: leave out agents\.ts/,
  ],
])('a file %j and the flags %j are rejected', async (file, flags, message) => {
  await expect(gatewayAgents(file, { gateway: true, ...flags }, {})).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(message),
  })
})
