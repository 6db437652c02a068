import type {
  FailedRequest,
  Message,
  Model,
  OptionTable,
  RunState,
  SummaryEvent,
  UserMessage,
  UserPart,
} from '../protocol/index.ts'
import {
  anObject,
  checkOptions,
  MillraceError,
  messageOf,
  messagesOf,
  someText,
  transcriptOf,
  turnStart,
  wholeNumber,
} from '../protocol/index.ts'
import type { Asker, AskOptions, Question } from './ask.ts'
import { answerTokens, createAsker } from './ask.ts'

/** A conversation that no longer fits the context, or soon will not. */
export interface CompactionInput {
  /**
   * As the model reads it, up to the current round. Later messages and the system prompt are always
   * kept.
   */
  readonly messages: readonly Message[]
  /**
   * `limit`: it is close to the agent's `maxContextTokens`. `overflow`: the provider rejected it.
   */
  readonly reason: 'limit' | 'overflow'
  /** Its length at the end of the last round, if known. */
  readonly tokens?: number
  /** The agent's `maxContextTokens`. */
  readonly limit?: number
  /** The model that reads the conversation. */
  readonly model: Model
  /**
   * Asks a model with the agent's retries and timeouts; usage and cost count for the run. Rejects
   * with the model's error. With `conversation`, only for the reason `limit`.
   */
  ask(question: Question): Promise<string>
  /** Aborted when the run ends. */
  readonly signal: AbortSignal
}

/** Keeps the last `keep` messages; `summary` replaces the ones before. */
export interface Compaction {
  readonly keep: number
  readonly summary: string
}

/**
 * Shortens a conversation. Returns undefined if it cannot. The cut is moved back if it would
 * separate a tool call from its results. Unfinished requests of the user are always kept verbatim.
 */
export type Compact = (
  conversation: CompactionInput,
) => Compaction | undefined | void | Promise<Compaction | undefined | void>

export interface CompactionOptions extends AskOptions {
  readonly state: RunState
  readonly compact: Compact
  readonly reason: CompactionInput['reason']
  readonly limit: number | undefined
  readonly signal: AbortSignal
  /** Called before the first request. */
  readonly onAsker?: ((asker: Asker) => void) | undefined
}

/** A summary for the log, the reason why it failed, or neither if there is nothing to compact. */
export type CompactionResult = {
  /** What was paid without getting a summary. The cost of a summary is in its event. */
  readonly paid?: FailedRequest
} & (
  | { readonly summary?: SummaryEvent; readonly failure?: undefined }
  | { readonly failure: unknown; readonly summary?: undefined }
)

const summaryLabel = '[Summary of the conversation so far, in place of its earlier messages]'
const requestLabel = "[The user's request, verbatim]"

/** Compact at this fraction of the limit: the next answer and its tool results have to fit too. */
const nearLimit = 0.8

/** A conversation that is longer than this is compacted. */
export function compactAt(limit: number): number {
  return Math.floor(limit * nearLimit)
}

export function isNearLimit({ contextTokens = 0 }: RunState, limit = Number.POSITIVE_INFINITY): boolean {
  return contextTokens > compactAt(limit)
}

/**
 * Calls the agent's `compact`. Throws `hook_failed` if it returns an invalid value; returns what it
 * throws as `failure`.
 */
export async function compactConversation(options: CompactionOptions): Promise<CompactionResult> {
  const { state, compact, reason, limit, model, signal } = options
  const { history } = state
  const latestCut = latestCutOf(history)
  if (!findCut(latestCut, state)) return {}
  const { contextTokens: tokens } = state
  const fits = tokens === undefined || limit === undefined || tokens + answerTokens <= limit
  const conversation = reason === 'limit' && fits ? options.conversation : undefined
  const asker = createAsker({ ...options, conversation }, signal)
  options.onAsker?.(asker)
  const unused = () => (asker.paid ? { paid: asker.paid } : {})
  let compaction: Compaction | undefined | void
  try {
    compaction = await compact({
      messages: [...history],
      reason,
      ...(tokens !== undefined && { tokens }),
      ...(limit !== undefined && { limit }),
      model,
      ask: asker.ask,
      signal,
    })
  } catch (failure) {
    return { failure, ...unused() }
  }
  if (compaction === undefined) return unused()
  checkCompaction(compaction)
  const cut = findCut(Math.min(history.length - compaction.keep, latestCut), state)
  if (!cut) return unused()
  const message = summaryMessage(compaction.summary, cut.requests)
  return { summary: { type: 'summary', replaces: cut.at, message, ...asker.paid } }
}

/** The provider's overflow error, with the reason why compaction failed. */
export function compactionFailed(overflow: MillraceError, failure: unknown): MillraceError {
  const message = `${overflow.message}; compacting the conversation failed: ${messageOf(failure)}`
  const { op, code, retryable, status, retryAfterMs } = overflow
  return new MillraceError({ op, code, message, retryable, status, retryAfterMs, cause: failure })
}

const compactionTable: OptionTable<Compaction> = {
  keep: wholeNumber(0),
  summary: someText,
}

function checkCompaction(value: unknown): asserts value is Compaction {
  try {
    const problem = anObject(value)
    if (problem) throw new TypeError(`the result ${problem}`)
    const { keep = null, summary = null, ...more } = value as Partial<Compaction>
    checkOptions({ ...more, keep, summary }, compactionTable, { op: 'compact', what: 'the field' })
  } catch (cause) {
    const message = `compact returned an invalid value: ${messageOf(cause)}`
    throw new MillraceError({ op: 'compact', code: 'hook_failed', message, cause })
  }
}

/** The latest possible cut: unanswered user messages at the end are kept. */
function latestCutOf(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role !== 'user') + 1
}

interface Cut {
  /** The index of the first message that is kept. */
  readonly at: number
  /** Unfinished user requests before the cut; they are appended to the summary. */
  readonly requests: readonly UserMessage[]
}

/**
 * A cut at or before `wanted` that keeps tool calls and results together; undefined if it would
 * remove nothing.
 */
function findCut(wanted: number, state: RunState): Cut | undefined {
  const { history, summaries } = state
  let at = Math.max(0, wanted)
  while (history[at]?.role === 'tool') at--
  const transcript = transcriptOf(state)
  const keptCount = messagesOf(state).length - at
  const requests = transcript.slice(turnStart(transcript), transcript.length - keptCount).filter(isUser)
  const isLeftOut = (message: Message) =>
    message.role !== 'system' && !requests.includes(message as UserMessage)
  return history.slice(summaries, at).some(isLeftOut) ? { at, requests } : undefined
}

function isUser(message: Message): message is UserMessage {
  return message.role === 'user'
}

function summaryMessage(summary: string, requests: readonly UserMessage[]): UserMessage {
  const text = [summaryLabel, summary, ...(requests.length > 0 ? [requestLabel] : [])].join('\n\n')
  const requestParts = requests.flatMap(({ content }): readonly UserPart[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  const content = [{ type: 'text', text } as const, ...requestParts]
  // Some servers accept only a plain string for a message of text.
  const isPlain = content.every((part) => part.type === 'text')
  return { role: 'user', content: isPlain ? content.map((part) => part.text).join('\n\n') : content }
}
