import type {
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
import type { AskOptions, Question } from './ask.ts'
import { asking } from './ask.ts'

/** A conversation that does not fit any more, or soon will not. */
export interface LongConversation {
  /** As the model reads it, up to the current round: what came since then stays in any case, as does the agent's system prompt. */
  readonly messages: readonly Message[]
  /** `limit`: it comes near the agent's `contextTokens`. `overflow`: the provider has refused it. */
  readonly reason: 'limit' | 'overflow'
  /** How long it was at the end of the last round, if that is known. */
  readonly tokens?: number
  /** The agent's `contextTokens`. */
  readonly limit?: number
  /** The one that reads it. */
  readonly model: Model
  /** Asks a model, on the agent's terms: its retries and time limits, and the run's usage. Rejects with the model's error. */
  ask(question: Question): Promise<string>
  /** Aborted when the run is over. */
  readonly signal: AbortSignal
}

/** `keep` messages at the end stay as they are; `summary` replaces those before. */
export interface Shortened {
  readonly keep: number
  readonly summary: string
}

/**
 * Shortens a conversation. Nothing, if that cannot be done. The cut is moved back to where no call loses its results. What the
 * user has asked for and is not done yet is kept word for word, whatever is cut.
 */
export type Shorten = (
  conversation: LongConversation,
) => Shortened | undefined | void | Promise<Shortened | undefined | void>

export interface ShortenOptions extends AskOptions {
  readonly state: RunState
  readonly shorten: Shorten
  readonly reason: LongConversation['reason']
  readonly limit: number | undefined
  readonly signal: AbortSignal
}

/** What came of it: a summary to put in the log, the reason why there is none, or neither if there is nothing to shorten. */
export type Shortening =
  | { readonly summary?: SummaryEvent; readonly failure?: undefined }
  | { readonly failure: unknown; readonly summary?: undefined }

const label = '[Summary of the conversation so far, in place of its earlier messages]'
const requestLabel = '[What the user asks for, word for word]'

/** From here on it is better to shorten a conversation: the next answer, and what tools will say, have to fit too. */
const nearLimit = 0.8

export function isNearLimit({ contextTokens = 0 }: RunState, limit = Number.POSITIVE_INFINITY): boolean {
  return contextTokens > limit * nearLimit
}

/** Asks the strategy. Throws `hook_failed` if what it gives makes no sense; what it throws is given back. */
export async function shortenConversation(options: ShortenOptions): Promise<Shortening> {
  const { state, shorten, reason, limit, model, signal } = options
  const { history } = state
  const most = lastCut(history)
  // Nobody needs to be asked if there is nothing that could be left out.
  if (!cutAt(most, state)) return {}
  const { contextTokens: tokens } = state
  const side = asking(options, signal)
  let shortened: Shortened | undefined | void
  try {
    shortened = await shorten({
      messages: [...history],
      reason,
      ...(tokens !== undefined && { tokens }),
      ...(limit !== undefined && { limit }),
      model,
      ask: side.ask,
      signal,
    })
  } catch (failure) {
    return { failure }
  }
  if (shortened === undefined) return {}
  check(shortened)
  const cut = cutAt(Math.min(history.length - shortened.keep, most), state)
  if (!cut) return {}
  const message = summaryMessage(shortened.summary, cut.requests)
  const { usage } = side
  return { summary: { type: 'summary', replaces: cut.at, message, ...(usage && { usage }) } }
}

/** The provider's refusal, together with what kept the conversation from being shortened. */
export function unshortened(refusal: MillraceError, failure: unknown): MillraceError {
  const message = `${refusal.message}; and the conversation could not be shortened: ${messageOf(failure)}`
  const { op, code, retryable, status, retryAfterMs } = refusal
  return new MillraceError({ op, code, message, retryable, status, retryAfterMs, cause: failure })
}

const shortenedTable: OptionTable<Shortened> = {
  keep: wholeNumber(0),
  summary: someText,
}

function check(shortened: unknown): asserts shortened is Shortened {
  try {
    const problem = anObject(shortened)
    if (problem) throw new TypeError(`what it gives ${problem}`)
    const { keep = null, summary = null, ...more } = shortened as Partial<Shortened>
    checkOptions({ ...more, keep, summary }, shortenedTable, { op: 'shorten', what: 'the field' })
  } catch (cause) {
    const message = `shorten cannot be followed: ${messageOf(cause)}`
    throw new MillraceError({ op: 'shorten', code: 'hook_failed', message, cause })
  }
}

/** What was said last and not answered yet stays as it is. */
function lastCut(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role !== 'user') + 1
}

interface Cut {
  /** The first message that stays. */
  readonly at: number
  /** What the user has asked for and is not done yet, as far as it does not stay: it goes along with the summary. */
  readonly requests: readonly UserMessage[]
}

/** A cut at this place or before it, where a call and its results stay together; undefined if it would leave out nothing. */
function cutAt(wanted: number, state: RunState): Cut | undefined {
  const { history, summaries } = state
  let at = Math.max(0, wanted)
  while (history[at]?.role === 'tool') at--
  const whole = transcriptOf(state)
  const staying = messagesOf(state).length - at
  const requests = whole.slice(turnStart(whole), whole.length - staying).filter(isUser)
  const isLeftOut = (message: Message) =>
    message.role !== 'system' && !requests.includes(message as UserMessage)
  return history.slice(summaries, at).some(isLeftOut) ? { at, requests } : undefined
}

function isUser(message: Message): message is UserMessage {
  return message.role === 'user'
}

function summaryMessage(summary: string, requests: readonly UserMessage[]): UserMessage {
  const text = [label, summary, ...(requests.length > 0 ? [requestLabel] : [])].join('\n\n')
  const said = requests.flatMap(({ content }): readonly UserPart[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  const content = [{ type: 'text', text } as const, ...said]
  // Some servers take nothing but plain text where there is nothing else.
  const isPlain = content.every((part) => part.type === 'text')
  return { role: 'user', content: isPlain ? content.map((part) => part.text).join('\n\n') : content }
}
