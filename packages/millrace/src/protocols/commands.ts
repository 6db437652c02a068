import type {
  ApprovalAnswer,
  InputMode,
  InputUserMessage,
  RunRequest,
  ToolResultPart,
} from '../protocol/index.ts'
import { anObject, anything, invalidInput, isObject, kindOf, toolContent } from '../protocol/index.ts'
import type { Field, Fields } from './fields.ts'
import {
  booleanField,
  choiceField,
  listField,
  numberField,
  objectField,
  required,
  textField,
} from './fields.ts'
import { httpError } from './http-error.ts'

// The commands that clients send to a thread, as the body of a request or as a WebSocket frame.

export interface SendCommand {
  readonly message: string | InputUserMessage
  readonly mode?: InputMode
  readonly key?: string
  readonly request?: RunRequest
}

export interface StopCommand {
  readonly reason?: string
}

export interface ApproveCommand extends ApprovalAnswer {
  readonly callId: string
}

/** The result of a call that a client has run: `output`, or `content` for several parts. */
export interface RespondCommand {
  readonly callId: string
  readonly output?: unknown
  readonly content?: readonly ToolResultPart[]
  readonly isError?: boolean
  readonly request?: RunRequest
}

export interface RewindCommand {
  readonly before: number
  readonly key?: string
  readonly request?: RunRequest
}

/**
 * What a server may accept in `request`. `metadata` changes nothing, and is always accepted.
 * `replace` is only accepted from callers who may inspect.
 */
export type ClientOption = Exclude<keyof RunRequest, 'metadata' | 'replace'>

export const requestOptions: readonly ClientOption[] = [
  'model',
  'tools',
  'system',
  'settings',
  'toolChoice',
  'output',
]

/** What a server accepts in `request` by default. */
export const defaultClientOptions: readonly ClientOption[] = ['model', 'tools', 'toolChoice', 'output']

/** What a caller who may inspect can send in `request`. */
export const inspectorOptions: ReadonlySet<keyof RunRequest> = new Set([
  ...requestOptions,
  'replace' as const,
])

export const keyField = textField({
  max: 256,
  description: 'An idempotency key: sending the same key twice creates one entry.',
})

/** The thread checks the values. */
export const requestField: Field = {
  schema: { $ref: '#/components/schemas/RunRequest' },
  problem: anObject,
}

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
  request: requestField,
}

export const stopFields: Fields = { reason }

export const approvalAnswerFields: Fields = {
  approved: required(booleanField()),
  reason,
  input: objectField({
    description: 'Run the tool call with this input instead of the one that the model wrote.',
  }),
  remember,
  request: requestField,
}

const callId = required(textField({ max: 1000 }))

export const approveFields: Fields = { callId, ...approvalAnswerFields }

export const resultFields: Fields = {
  output: { schema: { description: 'The result: text or any other JSON value.' }, problem: anything },
  content: listField({
    description: 'In place of output: parts of type text, json or image.',
    items: { type: 'object', properties: { type: { enum: ['text', 'json', 'image'] } }, required: ['type'] },
  }),
  isError: booleanField({ description: 'The call failed, and the result says why.' }),
  request: requestField,
}

export const respondFields: Fields = { callId, ...resultFields }

export const rewindFields: Fields = {
  before: required(
    numberField({
      min: 1,
      description:
        'The number of an input (to replace it), of the run-start of a run (to answer again), or of a rewind (to restore what it replaced).',
    }),
  ),
  key: keyField,
  request: requestField,
}

/** The decision in a command, without its other fields. Throws as `checkRequest` does. */
export function approvalAnswerOf(
  { approved, reason, input, remember, request }: ApprovalAnswer,
  allowed: ReadonlySet<keyof RunRequest>,
  op: string,
): ApprovalAnswer {
  return { approved, reason, input, remember, request: checkRequest(request, allowed, op) }
}

/** The result in a command. Throws `invalid_input` unless it has either `output` or `content`. */
export function resultOf({ output, content }: Omit<RespondCommand, 'callId'>, op: string): unknown {
  if ((output === undefined) === (content === undefined))
    throw invalidInput(op, "a result needs either the field 'output' or the field 'content'")
  return content ? toolContent(content) : output
}

/**
 * Throws `invalid_input` for a field that the server does not accept, or `auth` for one that needs
 * `canInspect`. The thread checks the rest.
 */
export function checkRequest(
  request: RunRequest | undefined,
  allowed: ReadonlySet<keyof RunRequest>,
  op: string,
): RunRequest | undefined {
  if (request?.replace !== undefined && !allowed.has('replace'))
    throw httpError(
      403,
      'auth',
      "the field 'request.replace' is only accepted from users whose auth returns canInspect: true or, without auth, by servers without clientOptions",
    )
  const rejected = requestOptions.find((name) => request?.[name] !== undefined && !allowed.has(name))
  if (rejected !== undefined)
    throw invalidInput(
      op,
      `the field 'request.${rejected}' is not accepted by this server: add '${rejected}' to its option clientOptions to allow it`,
    )
  // These would change the request to the provider, with the key of the server.
  const secret = (['extra', 'headers'] as const).find((name) => request?.settings?.[name] !== undefined)
  if (secret) throw invalidInput(op, `the field 'request.settings.${secret}' is not accepted from clients`)
  return request
}
