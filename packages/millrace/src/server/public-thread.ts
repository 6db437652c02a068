import type { Entry, ErrorCode, ErrorJson, ThreadEvent } from '../protocol/index.ts'
import { budgetId } from '../protocol/index.ts'
import { httpError } from '../protocols/index.ts'
import type { Following, Thread } from '../threads/index.ts'
import type { Identity } from './options.ts'

/** Error messages for users who must not see internal details. */
const publicMessages: { readonly [Code in ErrorCode]?: string } = {
  auth: 'the model provider rejected the request',
  rate_limit: 'the model is rate limited: try again later',
  overloaded: 'the model is overloaded: try again later',
  context_overflow: 'the conversation is too long for the model',
  timeout: 'the operation timed out',
  empty_answer: 'the model returned an empty answer: try again',
  invalid_output: 'the answer did not have the required format',
  workers_lost: 'the run was abandoned after repeated server failures',
}

/**
 * A thread as users may see it: errors have a code, but no internal details. The log keeps them.
 */
export function publicThread(thread: Thread, { canInspect = false }: Pick<Identity, 'canInspect'>): Thread {
  return {
    ...thread,
    async approve(callId, answer) {
      if (!canInspect && answer.approved && callId.includes(budgetId)) await checkBudget(thread, callId)
      return thread.approve(callId, answer)
    },
    follow: (options) => publicFollowing(thread.follow(options)),
    read: async (options) => (await thread.read(options)).map(publicEntry),
    async state(options) {
      const { run, ...view } = await thread.state(options)
      return { ...view, ...(run && { run: run.error ? { ...run, error: publicFailure(run.error) } : run }) }
    },
  }
}

/** The limits of a user and of an agent are not for that user to raise. */
async function checkBudget(thread: Thread, callId: string): Promise<void> {
  const { approvals } = await thread.state({ bytes: 0 })
  const scope = approvals.find((request) => request.callId === callId)?.budget?.scope
  if (scope === 'user' || scope === 'agent')
    throw httpError(
      403,
      'auth',
      'only users whose auth returns canInspect: true may raise a budget per day: ask one of them, or deny it',
    )
}

function publicFollowing(following: Following): Following {
  return {
    async next() {
      const { done, value } = await following.next()
      return done ? { done, value: undefined } : { done: false, value: publicEntry(value) }
    },
    ready() {
      const entry = following.ready()
      return entry && publicEntry(entry)
    },
    listen: (onEntries) => following.listen((entries) => onEntries(publicEntries(entries))),
    return: () => following.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Shared by all followers, so that each entry is also encoded only once. */
const madePublic = new WeakMap<Entry, Entry>()
const allPublic = new WeakMap<readonly Entry[], readonly Entry[]>()

/** Returns the same array if there is nothing to remove. */
function publicEntries(entries: readonly Entry[]): readonly Entry[] {
  const known = allPublic.get(entries)
  if (known) return known
  const made = entries.map(publicEntry)
  const result = made.every((entry, index) => entry === entries[index]) ? entries : made
  allPublic.set(entries, result)
  return result
}

/** Returns the same object if there is nothing to remove, which is almost always the case. */
function publicEntry(entry: Entry): Entry {
  const event = publicEvent(entry.event)
  if (event === entry.event) return entry
  const made = madePublic.get(entry) ?? { ...entry, event }
  madePublic.set(entry, made)
  return made
}

/** Removes the details of errors, including those inside a sub-agent. */
function publicEvent<Event extends ThreadEvent>(event: Event): Event {
  if ('error' in event && event.error) return { ...event, error: publicFailure(event.error) }
  if (event.type === 'round-retract') return { ...event, reason: 'the round is generated again' }
  if (event.type !== 'tool-progress' || !event.event) return event
  const inside = publicEvent(event.event)
  return inside === event.event ? event : { ...event, event: inside }
}

/** For these a client needs the provider's status, to wait or to send less. */
const statusCodes: ReadonlySet<ErrorCode> = new Set(['context_overflow', 'rate_limit', 'overloaded'])

function publicFailure({ op, code, message, retryable, status, retryAfterMs }: ErrorJson): ErrorJson {
  // The reason that a user gave for stopping the run is not a secret.
  const publicMessage =
    code === 'stream_interrupted' ? message : (publicMessages[code] ?? 'something went wrong')
  return {
    op,
    code,
    message: publicMessage,
    retryable,
    ...(status !== undefined && statusCodes.has(code) && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}
