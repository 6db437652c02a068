import type { ThreadInfo } from '../protocol/index.ts'
import { isMillraceError, isObject, MillraceError, messageOf } from '../protocol/index.ts'
import type { Caller, FoundThread } from '../protocols/index.ts'
import { httpError, noThread, tokenBuckets } from '../protocols/index.ts'
import type { App, Thread, ThreadsOptions } from '../threads/index.ts'
import { openAccess } from './access.ts'
import type { Auth, Identity } from './options.ts'
import { publicThread } from './public-thread.ts'
import { signIns } from './sign-ins.ts'

/** A caller, with what the server alone does for it. */
export interface Visitor extends Caller {
  /** Counts what a request or its answer has beyond a few kilobytes: a megabyte costs as much as many requests. */
  payFor(bytes: number): void
  /** Counts a stream that is opened, which may read much before it has caught up. */
  payForStream(): void
  /**
   * Calls `end` when the sign-in is not valid any more, or the thread (if any) may not be seen any more. Both are checked again and
   * again until the function that it gives is called.
   */
  hold(threadId: string | undefined, end: () => void): () => void
}

/** Somebody who was not asked, and for whom there is nothing. */
export const anonymous: Visitor = {
  user: undefined,
  key: undefined,
  inspects: false,
  canSee: async () => false,
  async getThread() {
    throw noThread()
  },
  async createThread() {
    throw httpError(401, 'auth', 'this needs a valid sign-in')
  },
  listThreads: async () => ({ threads: [] }),
  rateLimit() {},
  payFor() {},
  payForStream() {},
  hold: () => () => {},
}

/** Finds out who sends a request, from an address that may be unknown. Rejects with 401 if `auth` does not accept it. */
export type Identify = (request: Request, address?: string | undefined) => Promise<Visitor>

export interface VisitorsOptions {
  readonly app: App
  readonly auth: Auth | false | undefined
  readonly requestsPerSecond: number
  readonly failedSignIns: number
  readonly recheckMs: number
}

export interface Visitors {
  readonly identify: Identify
  /** Ends all streams of a user. Gives their number. */
  signOut(user: string): number
}

/** Ids as they can stand in an address: a dot alone would be taken for a folder. */
export const threadIdPattern = '^(?!\\.{1,2}$)[A-Za-z0-9_.-]{1,128}$'
const threadId = new RegExp(threadIdPattern)

/** So many pages are looked through for threads that a visitor's `sees` lets it see, before it is told to ask for the next. */
const mostPages = 20
/** So many bytes of a body or an answer count as one request more. */
const bytesPerRequest = 32 * 1024
/** So many requests a stream counts as. */
const requestsPerStream = 4

export function visitors(options: VisitorsOptions): Visitors {
  const { app, auth, requestsPerSecond, failedSignIns } = options
  const access = openAccess(options)
  const buckets = tokenBuckets({ perSecond: requestsPerSecond, burst: 4 * requestsPerSecond })
  const { attempt } = signIns({ perMinute: failedSignIns })

  function rateLimit(key: string) {
    const retryAfterMs = buckets.of(key).take()
    if (retryAfterMs > 0) {
      app.refused('requestsPerSecond')
      throw httpError(429, 'rate_limit', 'too many requests: wait a little', { retryAfterMs })
    }
  }

  function visitor(
    identity: Identity | undefined,
    address: string | undefined,
    hold: Visitor['hold'],
  ): Visitor {
    const user = identity?.user
    const key = user ?? (address && `address:${address}`)
    const canSee = async (thread: ThreadInfo) => !identity || maySee(identity, thread)
    // Without users there is only the owner, who is told everything.
    const found = (thread: Thread, info: ThreadInfo): FoundThread => ({
      thread: identity ? publicThread(thread) : thread,
      info,
    })
    return {
      user,
      key,
      inspects: !identity || identity.inspects === true,
      canSee,
      async getThread(id) {
        if (!threadId.test(id)) throw noThread()
        const thread = app.thread(id, { user, caller: key })
        const info = await thread.info().catch((error: unknown) => {
          throw isMillraceError(error) && error.code === 'not_found' ? noThread() : error
        })
        if (!(await canSee(info))) throw noThread()
        return found(thread, info)
      },
      async createThread({ id, ...options }) {
        if (id !== undefined && !threadId.test(id))
          throw httpError(
            400,
            'invalid_input',
            'the id of a thread must be 1 to 128 letters, digits, _, - or .',
          )
        const thread = app.thread(id, { ...options, user, caller: key })
        return found(thread, await thread.create({ anew: true }).catch(asTaken))
      },
      listThreads: (options) =>
        identity?.sees ? listSeen(app, options, canSee) : app.threads({ ...options, user }),
      rateLimit() {
        if (key !== undefined) rateLimit(key)
      },
      payFor(bytes) {
        if (key !== undefined) buckets.of(key).spend(Math.floor(bytes / bytesPerRequest))
      },
      payForStream() {
        if (key !== undefined) buckets.of(key).spend(requestsPerStream - 1)
      },
      hold,
    }
  }

  async function identify(request: Request, address?: string | undefined): Promise<Visitor> {
    if (!auth) return visitor(undefined, address, anonymous.hold)
    const since = access.signOuts
    const identity = await attempt(request, address, () => askAuth(auth, request))
    if (!identity) throw httpError(401, 'auth', 'this needs a valid sign-in')
    const { user } = identity
    const { url, method, headers } = request
    const mayStay = async (threadId: string | undefined) => {
      const found = await askAuth(auth, new Request(url, { method, headers }))
      if (found?.user !== user) return false
      return threadId === undefined || maySee(found, await app.thread(threadId).info())
    }
    return visitor(identity, address, (threadId, end) =>
      access.hold({ user, mayStay: () => mayStay(threadId), end }, since),
    )
  }

  return { identify, signOut: access.signOut }
}

/** The same message whichever user it belongs to. */
export function asTaken(error: unknown): never {
  throw isMillraceError(error) && error.code === 'conflict'
    ? httpError(409, 'conflict', 'there is a thread with that id: choose another, or leave it out')
    : error
}

async function askAuth(auth: Auth, request: Request): Promise<Identity | undefined> {
  const identity = await inHook('auth', () => auth(bodiless(request)))
  if (identity === null || identity === undefined) return undefined
  if (!isObject(identity) || typeof identity.user !== 'string' || !identity.user)
    throw hookFailed('auth', 'it must return { user } with a name that is not empty, or null')
  return identity
}

async function maySee({ user, sees }: Identity, thread: ThreadInfo): Promise<boolean> {
  return sees ? (await inHook('sees', () => sees(thread))) === true : thread.user === user
}

/** A page is filled by looking further, since what is not seen does not count. */
async function listSeen(
  app: App,
  { limit = 50, cursor, ...options }: ThreadsOptions,
  sees: (thread: ThreadInfo) => Promise<boolean>,
) {
  const threads: ThreadInfo[] = []
  let next = cursor
  for (let pages = 0; pages < mostPages && threads.length < limit; pages++) {
    const page = await app.threads({ ...options, limit: limit - threads.length, cursor: next })
    for (const thread of page.threads) if (await sees(thread)) threads.push(thread)
    next = page.next
    if (next === undefined) break
  }
  return { threads, ...(next !== undefined && { next }) }
}

/** The body is the route's to read. */
function bodiless(request: Request): Request {
  const { url, method, headers } = request
  return request.body ? new Request(url, { method, headers }) : request
}

async function inHook<Value>(name: string, call: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    throw hookFailed(name, messageOf(error), error)
  }
}

function hookFailed(name: string, message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op: `server.${name}`, code: 'hook_failed', message, cause })
}
