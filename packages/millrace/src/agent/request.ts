import type {
  JsonObject,
  Message,
  Model,
  ModelRequest,
  ModelSettings,
  OptionTable,
  ToolChoice,
  ToolSpec,
} from '../protocol/index.ts'
import {
  askForJson,
  asPlayed,
  checkMessages,
  checkOptions,
  findUnpaired,
  invalidInput,
  isMillraceError,
  kindOf,
  MillraceError,
  messageOf,
  settingsProblem,
  someText,
} from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { modelProblem, toolChoiceProblem, toolsProblem } from './option-checks.ts'

/** A round as passed to `prepareRound` before the request is sent. */
export interface RoundPlan<Context = unknown> {
  readonly round: number
  readonly messages: readonly Message[]
  readonly model: Model
  readonly system: string | undefined
  readonly tools: readonly Tool<Context>[]
  readonly settings: ModelSettings
  readonly toolChoice: ToolChoice | undefined
  readonly context: Context
}

/**
 * What the hook may change, for this round only. `messages` is what the model reads; the history is
 * not changed.
 */
type RoundChange<Context = unknown> = Partial<Omit<RoundPlan<Context>, 'round' | 'context'>>

export type PrepareRound<Context = unknown> = (
  plan: RoundPlan<Context>,
) => RoundChange<Context> | undefined | void | Promise<RoundChange<Context> | undefined | void>

/**
 * Calls the `prepareRound` hook. Throws `hook_failed` if it throws or returns invalid fields, and
 * `invalid_input` if its messages are invalid.
 */
export async function planRound<Context>(
  plan: RoundPlan<Context>,
  prepare: PrepareRound<Context> | undefined,
): Promise<RoundPlan<Context>> {
  if (!prepare) return plan
  let change: RoundChange<Context> | undefined | void
  try {
    change = await prepare(plan)
    if (!change) return plan
    checkOptions(change, changeTable, { op: 'prepareRound', what: 'prepareRound: the field' })
  } catch (cause) {
    const message = `prepareRound ${isMillraceError(cause) ? 'returned an invalid value' : 'threw'}: ${messageOf(cause)}`
    throw new MillraceError({ op: 'prepareRound', code: 'hook_failed', message, cause })
  }
  const changed = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  return {
    ...plan,
    ...changed,
    ...(change.messages && { messages: checkMessages(change.messages, 'prepareRound') }),
  }
}

const changeTable: OptionTable<RoundChange> = {
  messages: (value) => !Array.isArray(value) && `must be an array, not ${kindOf(value)}`,
  model: modelProblem,
  system: someText,
  tools: toolsProblem,
  settings: settingsProblem,
  toolChoice: toolChoiceProblem,
}

/**
 * The request of a round for one model. Throws `invalid_input` if a tool call and its result are
 * not paired.
 */
export function toRequest<Context>(
  plan: RoundPlan<Context>,
  model: Model,
  output: JsonObject | undefined,
): ModelRequest {
  const { tools, structuredOutput } = model.capabilities
  const system = [plan.system, output && !structuredOutput ? askForJson(output) : undefined]
    .filter(Boolean)
    .join('\n\n')
  const messages: Message[] = []
  for (const message of plan.messages) {
    const played = asPlayed(message)
    if (played) messages.push(withoutMedia(played, model))
  }
  const unpaired = findUnpaired(messages)
  if (unpaired)
    throw invalidInput('model.stream', `the messages of round ${plan.round} cannot be sent: ${unpaired}`)
  return {
    messages: system ? [{ role: 'system', content: system }, ...messages] : messages,
    // A fallback model without tool support answers without tools.
    tools: (tools ? plan.tools : []).map(toolSpec),
    ...(tools && plan.toolChoice && { toolChoice: plan.toolChoice }),
    ...(output && structuredOutput && { output }),
    settings: plan.settings,
  }
}

/** A tool as the model gets it. */
export function toolSpec({ name, description, inputSchema, strict }: ToolSpec): ToolSpec {
  return { name, description, inputSchema, ...(strict !== undefined && { strict }) }
}

/**
 * Replaces media that the model does not accept: it may be a fallback, and tools may return images.
 */
function withoutMedia(message: Message, { capabilities }: Model): Message {
  // In a long conversation, looking at every part costs as much as everything else in a round.
  if (capabilities.images && capabilities.files) return message
  if (message.role !== 'user' && message.role !== 'tool') return message
  if (typeof message.content === 'string') return message
  const isUnsupported = (part: { readonly type: string }) =>
    (part.type === 'image' && !capabilities.images) || (part.type === 'file' && !capabilities.files)
  if (!message.content.some(isUnsupported)) return message
  const content = message.content.map((part) =>
    isUnsupported(part)
      ? ({
          type: 'text',
          text: `[${part.type === 'image' ? 'an image' : 'a file'} was left out: this model does not accept ${part.type}s]`,
        } as const)
      : part,
  )
  return { ...message, content } as Message
}
