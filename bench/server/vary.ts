import type { Frame } from './render.ts'
import { numbers } from './scenario.ts'

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const extras: readonly ((number: number) => Fields)[] = [
  (number) => ({ obfuscation: 'x'.repeat(number % 17) }),
  (number) => ({ provider: number % 2 === 0 ? 'east' : 'west' }),
  (number) => ({ latency_ms: number % 1000 }),
  (number) => ({ [`x_${(number % 4096).toString(16)}`]: true }),
  (number) => ({ trace: { id: number.toString(36), sampled: number % 3 === 0, hops: [1, number % 7] } }),
  () => ({ safety: null }),
]

/** Log probabilities of a token, as both wires of OpenAI have them. */
const logprob = (token: unknown, number: number) => ({
  token,
  logprob: -(number % 1000) / 256,
  bytes: [number % 128],
  top_logprobs: [],
})

/**
 * The same events, no two of which look alike: other ids, another order of the fields, other fields
 * in between, log probabilities, other spacing. All of it is valid, and gateways do each of these.
 */
export function varied(frames: readonly Frame[]): Frame[] {
  const next = numbers(7)
  let chunks = 0
  const pick = (count: number) => Math.floor(next() * count)

  function written(value: unknown): string {
    const [colon, comma] = pick(2) === 0 ? [':', ','] : [': ', ', ']
    if (Array.isArray(value)) return `[${value.map(written).join(comma)}]`
    if (!isFields(value)) return JSON.stringify(value)
    const order = Object.entries(value).map((entry) => ({ entry, place: next() }))
    const fields = order
      .toSorted((a, b) => a.place - b.place)
      .map(({ entry: [key, field] }) => `${JSON.stringify(key)}${colon}${written(field)}`)
    return `{${fields.join(comma)}}`
  }

  function changed(event: Fields): Fields {
    const number = pick(1 << 20)
    const some = extras.filter(() => pick(3) === 0).map((extra) => extra(number))
    return Object.assign({}, withLogprobs(event, number), ...some)
  }

  function withLogprobs(event: Fields, number: number): Fields {
    if (Array.isArray(event.choices)) {
      const choices = event.choices.map((choice) => {
        const content: unknown = choice.delta.content
        if (typeof content !== 'string' || pick(2) === 0) return choice
        return { ...choice, logprobs: { content: [logprob(content, number)], refusal: null } }
      })
      // An id that comes twice would be that of an answer.
      return { ...event, id: `chatcmpl-${(++chunks).toString(36)}-${number.toString(36)}`, choices }
    }
    return typeof event.delta === 'string' && pick(2) === 0
      ? { ...event, logprobs: [logprob(event.delta, number)] }
      : event
  }

  return frames.map((frame) => {
    const at = frame.text.indexOf('data: ') + 6
    const data = frame.text.slice(at, -2)
    if (data === '[DONE]') return frame
    return { ...frame, text: `${frame.text.slice(0, at)}${written(changed(JSON.parse(data)))}\n\n` }
  })
}
