import type { Answer, InputMode, InputUserMessage } from '../protocol/index.ts'
import { isObject, kindOf } from '../protocol/index.ts'
import type { Fields } from './fields.ts'
import { choiceField, objectField, required, textField, yesNoField } from './fields.ts'

// What can be said to a thread from outside, whatever it comes by: the body of a request, or a frame of a socket.

export interface SendCommand {
  readonly message: string | InputUserMessage
  readonly mode?: InputMode
  readonly key?: string
}

export interface StopCommand {
  readonly reason?: string
}

export interface ApproveCommand extends Answer {
  readonly callId: string
}

export const keyField = textField({
  most: 256,
  description: 'Your own name for this message: the same one twice is one input.',
})

/** Only that it is words or an object: the thread looks inside. */
const message = {
  schema: {
    description: 'Words, or a message of role user with parts.',
    anyOf: [{ type: 'string', minLength: 1 }, { $ref: '#/components/schemas/UserMessage' }],
  },
  problem: (value: unknown) =>
    typeof value !== 'string' &&
    !isObject(value) &&
    `must be text or { role: 'user', content }, not ${kindOf(value)}`,
}

const reason = textField({ most: 10_000 })

const rememberFor = ['thread', 'always']

/** The thread looks inside. */
const remember = {
  schema: {
    description: 'Allows the same from now on, by the rules of the request or by others.',
    anyOf: [
      { type: 'string', enum: rememberFor },
      {
        type: 'object',
        properties: {
          for: { type: 'string', enum: rememberFor },
          rules: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 100 },
        },
        required: ['for'],
        additionalProperties: false,
      },
    ],
  },
  problem: (value: unknown) =>
    !isObject(value) &&
    !rememberFor.includes(String(value)) &&
    "must be 'thread', 'always' or { for: 'thread' | 'always', rules }",
}

export const sendFields: Fields = {
  message: required(message),
  mode: choiceField('queue', 'steer', 'interrupt'),
  key: keyField,
}

export const stopFields: Fields = { reason }

export const answerFields: Fields = {
  approved: required(yesNoField()),
  reason,
  input: objectField({ description: 'Run the call with this instead of what the model wrote.' }),
  remember,
}

export const approveFields: Fields = { callId: required(textField({ most: 1000 })), ...answerFields }

/** The decision in a command, without what else it has. */
export function answerIn({ approved, reason, input, remember }: Answer): Answer {
  return { approved, reason, input, remember }
}
