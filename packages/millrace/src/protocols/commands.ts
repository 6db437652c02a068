import type { ApprovalAnswer, InputMode, InputUserMessage } from '../protocol/index.ts'
import { isObject, kindOf } from '../protocol/index.ts'
import type { Fields } from './fields.ts'
import { booleanField, choiceField, objectField, required, textField } from './fields.ts'

// The commands that clients send to a thread, as the body of a request or as a WebSocket frame.

export interface SendCommand {
  readonly message: string | InputUserMessage
  readonly mode?: InputMode
  readonly key?: string
}

export interface StopCommand {
  readonly reason?: string
}

export interface ApproveCommand extends ApprovalAnswer {
  readonly callId: string
}

export const keyField = textField({
  max: 256,
  description: 'An idempotency key for this message: sending the same key twice creates one input.',
})

/** Only checks that it is text or an object. The thread checks the rest. */
const message = {
  schema: {
    description: 'Text, or a user message with parts.',
    anyOf: [{ type: 'string', minLength: 1 }, { $ref: '#/components/schemas/UserMessage' }],
  },
  problem: (value: unknown) =>
    typeof value !== 'string' &&
    !isObject(value) &&
    `must be text or { role: 'user', content }, not ${kindOf(value)}`,
}

const reason = textField({ max: 10_000 })

const rememberFor = ['thread', 'always']

/** The thread checks the rules. */
const remember = {
  schema: {
    description:
      'Also allow this from now on, with the rules suggested by the approval request or with other rules.',
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

export const approvalAnswerFields: Fields = {
  approved: required(booleanField()),
  reason,
  input: objectField({
    description: 'Run the tool call with this input instead of the one that the model wrote.',
  }),
  remember,
}

export const approveFields: Fields = { callId: required(textField({ max: 1000 })), ...approvalAnswerFields }

/** The decision in a command, without its other fields. */
export function approvalAnswerOf({ approved, reason, input, remember }: ApprovalAnswer): ApprovalAnswer {
  return { approved, reason, input, remember }
}
