import { tokenBuckets } from '../channels/index.ts'
import type { ThreadInfo } from '../protocol/index.ts'
import { isMillraceError, isObject, MillraceError, messageOf } from '../protocol/index.ts'
import type { App, Thread, ThreadsOptions } from '../threads/index.ts'
import { openAccess } from './access.ts'
import type { Auth, Identity } from './options.ts'
import { publicThread } from './public-thread.ts'
import { noThread, refusal } from './refusal.ts'
import { signIns } from './sign-ins.ts'

/** Somebody who may ask for things. What others own is not there for it. */
export interface Visitor {
  /** Undefined where nobody is asked who they are. */
  readonly user: string | undefined
  /** Whom quotas and limits count for: the user, else `address:` and the address. Undefined if neither is known. */
  readonly caller: string | undefined
  /** Whether it may see what goes to models. */
  readonly inspects: boolean
  sees(thread: ThreadInfo): Promise<boolean>
  /** A thread and what is known of it. Throws the same 404 if there is none and if it may not be seen. */
  reach(threadId: string): Promise<{ readonly thread: Thread; readonly info: ThreadInfo }>
  list(options: ThreadsOptions): ReturnType<App['threads']>
  /** Throws 429 if it has asked for too much lately. */
  pay(): void
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
export const stranger: Visitor = {
  user: undefined,
  caller: undefined,
  inspects: false,
  sees: async () => false,
  async reach() {
    throw noThread()
  },
  list: async () => ({ threads: [] }),
  pay() {},
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

  function pay(caller: string) {
    const retryAfterMs = buckets.of(caller).take()
    if (retryAfterMs > 0) {
      app.refused('requestsPerSecond')
      throw refusal(429, 'rate_limit', 'too many requests: wait a little', { retryAfterMs })
    }
  }

  function visitor(
    identity: Identity | undefined,
    address: string | undefined,
    hold: Visitor['hold'],
  ): Visitor {
    const user = identity?.user
    const caller = user ?? (address && `address:${address}`)
    const sees = async (thread: ThreadInfo) => !identity || maySee(identity, thread)
    return {
      user,
      caller,
      inspects: !identity || identity.inspects === true,
      sees,
      async reach(id) {
        if (!threadId.test(id)) throw noThread()
        const thread = app.thread(id, { user, caller })
        const info = await thread.info().catch((error: unknown) => {
          throw isMillraceError(error) && error.code === 'not_found' ? noThread() : error
        })
        if (!(await sees(info))) throw noThread()
        // Without users there is only the owner, who is told everything.
        return { thread: identity ? publicThread(thread) : thread, info }
      },
      list: (options) => (identity?.sees ? listSeen(app, options, sees) : app.threads({ ...options, user })),
      pay() {
        if (caller !== undefined) pay(caller)
      },
      payFor(bytes) {
        if (caller !== undefined) buckets.of(caller).spend(Math.floor(bytes / bytesPerRequest))
      },
      payForStream() {
        if (caller !== undefined) buckets.of(caller).spend(requestsPerStream - 1)
      },
      hold,
    }
  }

  async function identify(request: Request, address?: string | undefined): Promise<Visitor> {
    if (!auth) return visitor(undefined, address, stranger.hold)
    const since = access.signOuts
    const identity = await attempt(request, address, () => askAuth(auth, request))
    if (!identity) throw refusal(401, 'auth', 'this needs a valid sign-in')
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
