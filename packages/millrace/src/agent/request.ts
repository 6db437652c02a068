import type {
  JsonObject,
  Message,
  Model,
  ModelRequest,
  ModelSettings,
  OptionTable,
  ToolChoice,
} from '../protocol/index.ts'
import {
  asHeard,
  askForJson,
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

/** One round as `prepareRound` sees it before the request is sent. */
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

/** What it may change, for this round alone. `messages` is what the model reads; the history stays as it is. */
type RoundChange<Context = unknown> = Partial<Omit<RoundPlan<Context>, 'round' | 'context'>>

export type PrepareRound<Context = unknown> = (
  plan: RoundPlan<Context>,
) => RoundChange<Context> | undefined | void | Promise<RoundChange<Context> | undefined | void>

/** Asks the caller's hook. Throws `hook_failed` if it does, and `invalid_input` if what it gives cannot be sent. */
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
    const message = `prepareRound ${isMillraceError(cause) ? 'cannot be followed' : 'threw'}: ${messageOf(cause)}`
    throw new MillraceError({ op: 'prepareRound', code: 'hook_failed', message, cause })
  }
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  return {
    ...plan,
    ...given,
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

/** The request for a round, for the model it goes to. Throws `invalid_input` if a call and its result do not stand together. */
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
    const heard = asHeard(message)
    if (heard) messages.push(withoutMedia(heard, model))
  }
  const unpaired = findUnpaired(messages)
  if (unpaired)
    throw invalidInput('model.stream', `the messages of round ${plan.round} cannot be sent: ${unpaired}`)
  return {
    messages: system ? [{ role: 'system', content: system }, ...messages] : messages,
    // A fallback that takes no tools answers without.
    tools: (tools ? plan.tools : []).map(({ name, description, inputSchema, strict }) => ({
      name,
      description,
      inputSchema,
      ...(strict !== undefined && { strict }),
    })),
    ...(tools && plan.toolChoice && { toolChoice: plan.toolChoice }),
    ...(output && structuredOutput && { output }),
    settings: plan.settings,
  }
}

/** For a fallback that cannot see what the first model could, and for tools that answer with pictures. */
function withoutMedia(message: Message, { capabilities }: Model): Message {
  if (message.role !== 'user' && message.role !== 'tool') return message
  if (typeof message.content === 'string') return message
  const unseen = (part: { readonly type: string }) =>
    (part.type === 'image' && !capabilities.images) || (part.type === 'file' && !capabilities.files)
  if (!message.content.some(unseen)) return message
  const content = message.content.map((part) =>
    unseen(part)
      ? ({
          type: 'text',
          text: `[${part.type === 'image' ? 'an image' : 'a file'} was left out: this model takes none]`,
        } as const)
      : part,
  )
  return { ...message, content } as Message
}
