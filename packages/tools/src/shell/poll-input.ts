import type { JsonSchema } from 'millrace'
import { isObject, kindOf } from 'millrace/internal'
import type { PollRequest } from './background.ts'

const [waitMs, maxWaitMs] = [5_000, 60_000]

export const pollSchema: JsonSchema<PollRequest> = {
  jsonSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The id from the call that started it, such as bg_1a2b3c4d' },
      wait_ms: {
        type: 'integer',
        minimum: 0,
        maximum: maxWaitMs,
        description: `How long to wait for new output; ${waitMs} by default`,
      },
      stop: { type: 'boolean', description: 'Stop the command' },
    },
    required: ['id'],
    additionalProperties: false,
  },
  validate(value) {
    if (!isObject(value)) return { issues: [{ message: `must be an object, not ${kindOf(value)}` }] }
    const { id, wait_ms: wait = waitMs, stop = false, ...others } = value
    const issues = Object.keys(others).map((name) => ({
      message: 'does not exist: use id, wait_ms or stop',
      path: [name],
    }))
    if (typeof id !== 'string') issues.push({ message: `must be a string, not ${kindOf(id)}`, path: ['id'] })
    if (!(Number.isInteger(wait) && Number(wait) >= 0))
      issues.push({ message: 'must be a whole number of milliseconds', path: ['wait_ms'] })
    if (typeof stop !== 'boolean') issues.push({ message: 'must be true or false', path: ['stop'] })
    if (issues.length > 0) return { issues }
    return { value: { id: String(id), waitMs: Math.min(Number(wait), maxWaitMs), stop: stop === true } }
  },
}
