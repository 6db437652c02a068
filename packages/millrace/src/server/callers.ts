import type { ThreadInfo } from '../protocol/index.ts'
import { isMillraceError, isObject, MillraceError, messageOf } from '../protocol/index.ts'
import type { Caller, FoundThread } from '../protocols/index.ts'
import { httpError, noThread, tokenBuckets } from '../protocols/index.ts'
import type { App, Thread, ThreadsOptions } from '../threads/index.ts'
import { findInputs } from '../threads/index.ts'
import { openAccess } from './access.ts'
import type { Auth, Identity } from './options.ts'
import { publicThread } from './public-thread.ts'
import { signIns } from './sign-ins.ts'

/** A caller, with the methods that only the server uses. */
export interface ServerCaller extends Caller {
  /**
   * Charges the rate limit for a large request or response: a megabyte costs as much as many
   * requests.
   */
  countBytes(bytes: number): void
  /** Charges the rate limit for a new stream, which may read a lot before it has caught up. */
  countStream(): void
  /**
   * Calls `end` when the sign-in is no longer valid, or the caller may no longer see the thread (if
   * any). Both are checked periodically until the returned function is called.
   */
  watchAccess(threadId: string | undefined, end: () => void): () => void
}

/** A caller of a public route, who is not identified and has access to nothing. */
export const anonymous: ServerCaller = {
  user: undefined,
  key: undefined,
  canInspect: false,
  canSee: async () => false,
  async getThread() {
    throw noThread()
  },
  async createThread() {
    throw httpError(401, 'auth', 'authentication required: sign in with valid credentials')
  },
  listThreads: async () => ({ threads: [] }),
  spending: async () => [],
  findInputs: async () => [],
  async forkThread() {
    throw noThread()
  },
  requests: { limit: 0, remaining: 0, resetMs: 0 },
  rateLimit() {},
  countBytes() {},
  countStream() {},
  watchAccess: () => () => {},
}

/** Identifies the caller of a request. Rejects with 401 if `auth` does not accept it. */
export type Identify = (request: Request, address?: string | undefined) => Promise<ServerCaller>

export interface CallersOptions {
  readonly app: App
  readonly auth: Auth | false | undefined
  readonly requestsPerSecond: number
  readonly failedSignIns: number
  readonly recheckMs: number
}

export interface Callers {
  readonly identify: Identify
  /** Ends all streams of a user. Returns how many there were. */
  signOut(user: string): number
}

/** Ids that are safe in a URL: `.` and `..` would be resolved as path segments. */
export const threadIdPattern = '^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,128}$'
const threadId = new RegExp(threadIdPattern)

/**
 * How many pages are searched for threads that `canSee` allows, before a partial page is returned.
 */
const maxPages = 20
/** After how long a search that reads several pages returns a partial page. */
const maxListMs = 2000
/** How many threads with a key are searched for inputs, and how many of them are returned. */
const maxSearched = 100
const maxInputs = 20
/** This many bytes of a body or a response count as one more request. */
const bytesPerRequest = 32 * 1024
/** How many requests a stream counts as. */
const requestsPerStream = 4

export function callers(options: CallersOptions): Callers {
  const { app, auth, requestsPerSecond, failedSignIns } = options
  const access = openAccess(options)
  const burst = 4 * requestsPerSecond
  const buckets = tokenBuckets({ perSecond: requestsPerSecond, burst })
  const { attempt } = signIns({ perMinute: failedSignIns })

  function rateLimit(key: string) {
    const retryAfterMs = buckets.of(key).take()
    if (retryAfterMs > 0) {
      app.rejected('requestsPerSecond')
      throw httpError(429, 'rate_limit', 'too many requests: slow down', { retryAfterMs })
    }
  }

  function callerOf(
    identity: Identity | undefined,
    address: string | undefined,
    watchAccess: ServerCaller['watchAccess'],
  ): ServerCaller {
    const user = identity?.user
    const key = user ?? (address && `address:${address}`)
    const canSee = async (thread: ThreadInfo) => !identity || canUserSee(identity, thread)
    // Without `auth` every caller is the owner, who gets errors with all their details.
    const found = (thread: Thread, info: ThreadInfo): FoundThread => ({
      thread: identity ? publicThread(thread, identity) : thread,
      info,
    })
    async function visibleThread(id: string): Promise<FoundThread | undefined> {
      const thread = app.thread(id, { user, caller: key })
      const info = await thread.info().catch((error: unknown) => {
        if (!isMillraceError(error) || error.code !== 'not_found') throw error
      })
      return info && (await canSee(info)) ? found(thread, info) : undefined
    }
    return {
      user,
      key,
      canInspect: !identity || identity.canInspect === true,
      canSee,
      async getThread(id) {
        const visible = threadId.test(id) ? await visibleThread(id) : undefined
        if (!visible) throw noThread()
        return visible
      },
      async findInputs(key) {
        const inputs = await Promise.all(
          (await findInputs(app, key, maxSearched)).map(async ({ threadId, seq }) => {
            const visible = await visibleThread(threadId)
            return visible ? [{ ...visible, input: seq }] : []
          }),
        )
        return inputs.flat().slice(0, maxInputs)
      },
      async forkThread({ thread }, at, { id } = {}) {
        const fork = await thread
          .fork(at, {
            ...(id !== undefined && { id }),
            ...(user !== undefined && { user }),
            ...(key !== undefined && { caller: key }),
          })
          .catch(rethrowConflict)
        return found(fork, await fork.info())
      },
      get requests() {
        const bucket = key === undefined ? undefined : buckets.of(key)
        const remaining = bucket ? Math.max(0, bucket.left()) : burst
        return { limit: burst, remaining, resetMs: bucket?.fullInMs() ?? 0 }
      },
      async createThread({ id, messages, keys, request, exported, ...options }) {
        if (id !== undefined && !threadId.test(id))
          throw httpError(400, 'invalid_input', 'a thread id must be 1 to 128 letters, digits, _, - or .')
        const thread = app.thread(id, { ...options, user, caller: key })
        return found(
          thread,
          await thread
            .create({ failIfExists: true, messages, keys, request, exported })
            .catch(rethrowConflict),
        )
      },
      listThreads: (options) =>
        identity?.canSee ? listVisible(app, options, canSee) : app.threads({ ...options, user }),
      async spending(options) {
        // `canSee` decides about single threads, and sums are not made of those.
        if (!identity || (identity.canSee && identity.canInspect)) return app.spending(options)
        if (options.user !== undefined && options.user !== user)
          throw httpError(
            403,
            'auth',
            'the spending of others is only visible to users whose auth returns canSee and canInspect: true',
          )
        return app.spending({ ...options, user })
      },
      rateLimit() {
        if (key !== undefined) rateLimit(key)
      },
      countBytes(bytes) {
        if (key !== undefined) buckets.of(key).spend(Math.floor(bytes / bytesPerRequest))
      },
      countStream() {
        if (key !== undefined) buckets.of(key).spend(requestsPerStream - 1)
      },
      watchAccess,
    }
  }

  async function identify(request: Request, address?: string | undefined): Promise<ServerCaller> {
    if (!auth) return callerOf(undefined, address, anonymous.watchAccess)
    const since = access.signOuts
    const identity = await attempt(request, address, () => callAuth(auth, request))
    if (!identity) throw httpError(401, 'auth', 'authentication required: sign in with valid credentials')
    const { user } = identity
    const { url, method, headers } = request
    const isAllowed = async (threadId: string | undefined) => {
      const found = await callAuth(auth, new Request(url, { method, headers }))
      if (found?.user !== user) return false
      return threadId === undefined || canUserSee(found, await app.thread(threadId).info())
    }
    return callerOf(identity, address, (threadId, end) =>
      access.watch({ user, isAllowed: () => isAllowed(threadId), end }, since),
    )
  }

  return { identify, signOut: access.signOut }
}

/** The message does not reveal which user owns the thread. */
function rethrowConflict(error: unknown): never {
  throw isMillraceError(error) && error.code === 'conflict'
    ? httpError(409, 'conflict', 'a thread with this id already exists: choose another id, or leave it out')
    : error
}

async function callAuth(auth: Auth, request: Request): Promise<Identity | undefined> {
  const identity = await callHook('auth', () => auth(withoutBody(request)))
  if (identity === null || identity === undefined) return undefined
  if (!isObject(identity) || typeof identity.user !== 'string' || !identity.user)
    throw hookFailed('auth', 'it must return { user } with a non-empty name, or null')
  return identity
}

async function canUserSee({ user, canSee }: Identity, thread: ThreadInfo): Promise<boolean> {
  return canSee ? (await callHook('canSee', () => canSee(thread))) === true : thread.user === user
}

/** Threads that the caller cannot see do not count, so several pages may be read to fill one. */
async function listVisible(
  app: App,
  { limit = 50, cursor, ...options }: ThreadsOptions,
  canSee: (thread: ThreadInfo) => Promise<boolean>,
) {
  const threads: ThreadInfo[] = []
  let next = cursor
  const startedAt = performance.now()
  for (let pages = 0; pages < maxPages && threads.length < limit; pages++) {
    const page = await app.threads({ ...options, limit: limit - threads.length, cursor: next })
    for (const thread of page.threads) if (await canSee(thread)) threads.push(thread)
    next = page.next
    if (next === undefined || performance.now() - startedAt >= maxListMs) break
  }
  return { threads, ...(next !== undefined && { next }) }
}

/** Only the route may read the body. */
function withoutBody(request: Request): Request {
  const { url, method, headers } = request
  return request.body ? new Request(url, { method, headers }) : request
}

async function callHook<Value>(name: string, call: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    throw hookFailed(name, messageOf(error), error)
  }
}

function hookFailed(name: string, message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op: `server.${name}`, code: 'hook_failed', message, cause })
}
