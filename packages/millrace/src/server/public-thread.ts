import type { Entry, ErrorCode, ErrorJson, ThreadEvent } from '../protocol/index.ts'
import type { Following, Thread } from '../threads/index.ts'

/** What is said of a failure to those whose affair its details are not. */
const sentences: { readonly [Code in ErrorCode]?: string } = {
  auth: 'the model could not be asked: its provider refused',
  rate_limit: 'the model is asked too often: try again later',
  overloaded: 'the model is overloaded: try again later',
  context_overflow: 'the conversation is too long for the model',
  timeout: 'it took too long',
  empty_answer: 'the model gave no answer: try again',
  invalid_output: 'the answer was not of the right form',
  workers_lost: 'it was given up after several failures of the server',
}

/**
 * A thread as somebody may see it who is not its owner's own: what went wrong has a code, and no inner detail. The log keeps all of it.
 */
export function publicThread(thread: Thread): Thread {
  return {
    ...thread,
    follow: (options) => publicFollowing(thread.follow(options)),
    read: async (options) => (await thread.read(options)).map(publicEntry),
    async state(options) {
      const { run, ...view } = await thread.state(options)
      return { ...view, ...(run && { run: run.error ? { ...run, error: publicFailure(run.error) } : run }) }
    },
  }
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
    return: () => following.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** One for all who follow, so that its bytes are made once too. */
const known = new WeakMap<Entry, Entry>()

/** The same object where there is nothing to leave out, as nearly always. */
function publicEntry(entry: Entry): Entry {
  const event = publicEvent(entry.event)
  if (event === entry.event) return entry
  const made = known.get(entry) ?? { ...entry, event }
  known.set(entry, made)
  return made
}

/** Whatever has an error has it without its details, also inside a sub-agent. */
function publicEvent<Event extends ThreadEvent>(event: Event): Event {
  if ('error' in event && event.error) return { ...event, error: publicFailure(event.error) }
  if (event.type === 'round-retract') return { ...event, reason: 'it is told again' }
  if (event.type !== 'tool-progress' || !event.event) return event
  const inside = publicEvent(event.event)
  return inside === event.event ? event : { ...event, event: inside }
}

function publicFailure({ op, code, message, retryable }: ErrorJson): ErrorJson {
  // What somebody said when they stopped it is no secret.
  const told = code === 'stream_interrupted' ? message : (sentences[code] ?? 'something went wrong')
  return { op, code, message: told, retryable }
}
