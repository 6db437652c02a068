import type { FinishReason, JsonObject } from 'millrace'
import type { ScriptRound } from 'millrace/testing'

/**
 * One conversation as data: the script, the tool results, and the expected result over every wire
 * and client.
 */
export interface SimulatorScenario {
  readonly name: string
  readonly prompt: string
  readonly rounds: readonly ScriptRound[]
  /** Tools by name, with what they return. */
  readonly tools: Readonly<Record<string, JsonObject>>
  readonly expected: {
    /** The text of the last round, and the reasoning of all rounds. */
    readonly text: string
    readonly reasoning: string
    readonly calls: readonly { readonly name: string; readonly input: JsonObject }[]
    readonly finish: FinishReason
    /** The sum over all rounds. */
    readonly usage: { readonly inputTokens: number; readonly outputTokens: number }
    /** The text is a refusal. */
    readonly isRefusal?: true
    /** It ends with this provider error. */
    readonly error?: RegExp
  }
}

const usage = (inputTokens: number, outputTokens: number) => ({ usage: { inputTokens, outputTokens } })

export const scenarios: readonly SimulatorScenario[] = [
  {
    name: 'text',
    prompt: 'Say something.',
    rounds: [[{ text: 'Grüße aus Zürich, “friend” 😀,\n' }, { text: 'and \\ good-bye.' }, usage(12, 9)]],
    tools: {},
    expected: {
      text: 'Grüße aus Zürich, “friend” 😀,\nand \\ good-bye.',
      reasoning: '',
      calls: [],
      finish: 'stop',
      usage: { inputTokens: 12, outputTokens: 9 },
    },
  },
  {
    name: 'reasoning, then text',
    prompt: 'What is 6 × 7?',
    rounds: [
      [
        { reasoning: 'Six sevens are forty-two.' },
        { text: 'It is 42.' },
        { usage: { inputTokens: 40, outputTokens: 20, reasoningTokens: 12, cacheReadTokens: 30 } },
      ],
    ],
    tools: {},
    expected: {
      text: 'It is 42.',
      reasoning: 'Six sevens are forty-two.',
      calls: [],
      finish: 'stop',
      usage: { inputTokens: 40, outputTokens: 20 },
    },
  },
  {
    name: 'two rounds and three tools',
    prompt: 'Where is ORD-42, and will it rain?',
    rounds: [
      [
        { reasoning: 'Three things to look up.' },
        { text: 'Let me look. ' },
        { call: 'lookup_order', input: { id: 'ORD-42' } },
        { call: 'weather', input: { city: 'Zürich', days: 2 } },
        { call: 'now' },
        usage(50, 30),
      ],
      [{ text: 'It has shipped; it will rain.' }, usage(90, 8)],
    ],
    tools: {
      lookup_order: { id: 'ORD-42', status: 'shipped' },
      weather: { rain: true },
      now: { time: '12:00' },
    },
    expected: {
      text: 'It has shipped; it will rain.',
      reasoning: 'Three things to look up.',
      calls: [
        { name: 'lookup_order', input: { id: 'ORD-42' } },
        { name: 'weather', input: { city: 'Zürich', days: 2 } },
        { name: 'now', input: {} },
      ],
      finish: 'stop',
      usage: { inputTokens: 140, outputTokens: 38 },
    },
  },
  {
    name: 'parallel calls of one tool, round after round',
    prompt: 'Weather in three cities?',
    rounds: [
      [
        { call: 'weather', input: { city: 'Rome' } },
        { call: 'weather', input: { city: 'Oslo' } },
        usage(20, 10),
      ],
      [{ call: 'weather', input: { city: 'Bern' } }, usage(40, 5)],
      [{ text: 'Rain everywhere.' }, usage(60, 4)],
    ],
    tools: { weather: { rain: true } },
    expected: {
      text: 'Rain everywhere.',
      reasoning: '',
      calls: ['Rome', 'Oslo', 'Bern'].map((city) => ({ name: 'weather', input: { city } })),
      finish: 'stop',
      usage: { inputTokens: 120, outputTokens: 19 },
    },
  },
  {
    name: 'a structured answer cut off by the limit',
    prompt: 'As JSON.',
    rounds: [[{ text: '{"city":"Par' }, { finish: 'length' }, usage(10, 4)]],
    tools: {},
    expected: {
      text: '{"city":"Par',
      reasoning: '',
      calls: [],
      finish: 'length',
      usage: { inputTokens: 10, outputTokens: 4 },
    },
  },
  {
    name: 'a refusal',
    prompt: 'Something bad, please.',
    rounds: [[{ text: 'I cannot help with that.' }, { finish: 'refusal' }, usage(10, 6)]],
    tools: {},
    expected: {
      text: 'I cannot help with that.',
      reasoning: '',
      calls: [],
      finish: 'refusal',
      isRefusal: true,
      usage: { inputTokens: 10, outputTokens: 6 },
    },
  },
  {
    name: 'a failure before the first text',
    prompt: 'Hello?',
    rounds: [[{ error: { code: 'rate_limit', message: 'Slow down, please.' } }]],
    tools: {},
    expected: {
      text: '',
      reasoning: '',
      calls: [],
      finish: 'other',
      usage: { inputTokens: 0, outputTokens: 0 },
      error: /Slow down, please\./,
    },
  },
  {
    name: 'a failure in the middle of the text',
    prompt: 'Hello?',
    rounds: [[{ text: 'Well, ' }, { error: { code: 'overloaded', message: 'Too much at once.' } }]],
    tools: {},
    expected: {
      text: '',
      reasoning: '',
      calls: [],
      finish: 'other',
      usage: { inputTokens: 0, outputTokens: 0 },
      error: /Too much at once\./,
    },
  },
]
