import { isMillraceError } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { messageOf, sleep, someText, systemClock, wholeNumber } from 'millrace/internal'
import type { ProtocolHost } from 'millrace/server'
import { isFinal } from '../a2a/wire.ts'
import { allowListOf, allowProblem } from '../web-fetch/allow-list.ts'
import type { PushConfig } from './push-store.ts'
import { pushStore } from './push-store.ts'
import { checkTarget, notify } from './push-target.ts'
import { invalidParams, RpcError } from './rpc.ts'
import type { TaskRef } from './task-fold.ts'
import { taskFold } from './task-fold.ts'
import { objectIn, taskRef } from './tasks.ts'

export interface A2aPushOptions {
  /** The SQLite file for the addresses and credentials of clients. Processes of a machine may share it. */
  readonly file: string
  /**
   * Hosts, addresses and ranges that may be notified although they are not public, also without TLS:
   * `['127.0.0.1', '10.1.0.0/16']`.
   */
  readonly allow?: readonly string[] | undefined
  /** How often a notification is tried, after 0.5 s, 1 s, 2 s and so on. Default: 7. */
  readonly attempts?: number | undefined
}

export const pushTable: OptionTable<A2aPushOptions> = {
  file: someText,
  allow: allowProblem,
  attempts: wholeNumber(1),
}

type Params = Readonly<Record<string, unknown>>

/** A configuration as clients see it: everyone who sees the task sees it, so without credentials. */
interface WireConfig {
  readonly taskId: string
  readonly id: string
  readonly url: string
  readonly token?: string
  readonly authentication?: { readonly scheme: string }
}

/** Sends a task to its clients whenever its state changes. Continues in the next process. */
export interface PushNotifications {
  /** Throws if the configuration cannot be used, with what is wrong. */
  check(params: Params | undefined): Promise<void>
  /** Adds a configuration that was checked. Changes after the entry `sent` are delivered. */
  add(ref: TaskRef, thread: string, params: Params, sent: number): WireConfig
  get(ref: TaskRef, id: unknown): WireConfig
  list(ref: TaskRef): readonly WireConfig[]
  remove(ref: TaskRef, id: unknown): void
  close(): Promise<void>
}

const leaseMs = 6000
const scanMs = 2000
const firstRetryMs = 500
const maxChars = 4096

const keyOf = ({ task, id }: Pick<PushConfig, 'task' | 'id'>) => `${id} ${task}`

export function pushNotifications(
  { file, allow = [], attempts = 7 }: A2aPushOptions,
  host: ProtocolHost,
): PushNotifications {
  const store = pushStore(file)
  const allowed = allowListOf(allow)
  const owner = crypto.randomUUID()
  const closing = new AbortController()
  const working = new Map<
    string,
    { readonly config: PushConfig; readonly stop: AbortController; readonly done: Promise<void> }
  >()
  let cancelScan = systemClock.after(0, scan)

  function scan() {
    try {
      for (const { config } of working.values()) store.renew(config, owner, leaseMs)
      for (const config of store.claim(owner, leaseMs)) start(config)
    } catch (error) {
      void host.publicError(error)
    }
    cancelScan = systemClock.after(scanMs, scan)
  }

  function start(config: PushConfig) {
    const key = keyOf(config)
    working.get(key)?.stop.abort()
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, closing.signal])
    const done = deliver(config, signal)
      .catch((error: unknown) => {
        if (isMillraceError(error) && error.code === 'not_found') store.remove(config)
        else if (!signal.aborted) void host.publicError(error)
      })
      .finally(() => {
        if (working.get(key)?.stop === stop) working.delete(key)
      })
    working.set(key, { config, stop, done })
  }

  async function deliver(config: PushConfig, signal: AbortSignal): Promise<void> {
    const thread = host.openThread(config.thread)
    const input = Number(/\d+$/.exec(config.task)?.[0])
    const fold = taskFold(taskRef(await thread.info(), input))
    for await (const { seq } of stateChanges()) {
      if (seq > config.sent && !(await send(seq))) return
      if (isFinal(fold.status.state)) return store.remove(config)
    }
    // Rejects if the thread was deleted.
    await thread.info()

    async function* stateChanges() {
      for await (const entry of thread.follow({ after: input - 1, signal })) {
        const { state } = fold.status
        fold.applyEntry(entry)
        if (fold.status.state !== state) yield entry
      }
    }

    /** Returns false if the configuration was removed, or another process has taken it over. */
    async function send(seq: number): Promise<boolean> {
      const body = JSON.stringify({ task: fold.task() })
      for (let attempt = 1; ; attempt++) {
        const current = store.get(config.task, config.id)
        if (!current || current.owner !== owner || signal.aborted) return false
        try {
          await notify(current, body, { allowed, signal })
          break
        } catch (error) {
          if (signal.aborted) return false
          if (attempt === attempts) {
            const message = `a push notification of the task ${config.task} was given up after ${attempt} attempts: ${messageOf(error)}`
            void host.publicError(new Error(message, { cause: error }))
            break
          }
          await sleep(firstRetryMs * 2 ** (attempt - 1), { clock: systemClock, signal })
        }
      }
      store.delivered(config, seq)
      return true
    }
  }

  return {
    async check(params) {
      if (!params) return
      const { url } = params
      const target = typeof url === 'string' ? URL.parse(url) : null
      if (!target || !/^https?:$/.test(target.protocol) || target.username || target.password)
        throw invalidParams(
          "'url' of the push notifications must be a URL with https:// and without credentials",
        )
      const { id, token, scheme, credentials } = readConfig(params)
      for (const value of [id, token, scheme, credentials])
        if (value.length > maxChars || /[^\x20-\x7e]/.test(value))
          throw invalidParams(
            `'id', 'token' and 'authentication' of the push notifications must be printable ASCII, at most ${maxChars} characters`,
          )
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(10_000)])
      await checkTarget(target, { allowed, signal }).catch((error: unknown) => {
        throw invalidParams(messageOf(error))
      })
    },

    add(ref, thread, params, sent) {
      const config = { ...readConfig(params), task: ref.id, thread, sent, owner }
      if (!store.add(config, leaseMs))
        throw new RpcError('REJECTED', 'there are too many push notification configurations: delete some')
      start(store.get(config.task, config.id) ?? config)
      return wireConfig(config)
    },

    get(ref, id) {
      const config = store.get(ref.id, String(id))
      if (!config)
        throw new RpcError('TASK_NOT_FOUND', 'the task has no such push notification configuration')
      return wireConfig(config)
    },

    list: (ref) => store.list(ref.id).map(wireConfig),

    remove(ref, id) {
      const key = { task: ref.id, id: String(id) }
      store.remove(key)
      working.get(keyOf(key))?.stop.abort()
    },

    async close() {
      cancelScan()
      closing.abort()
      await Promise.all([...working.values()].map(({ done }) => done))
      store.release(owner)
      store.close()
    },
  }
}

function readConfig(params: Params): Pick<PushConfig, 'id' | 'url' | 'token' | 'scheme' | 'credentials'> {
  const { scheme, credentials } = objectIn(params.authentication, 'authentication')
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  return {
    id: text(params.id) || crypto.randomUUID(),
    url: text(params.url),
    token: text(params.token),
    scheme: text(scheme),
    credentials: text(credentials),
  }
}

function wireConfig({ task, id, url, token, scheme }: PushConfig): WireConfig {
  return { taskId: task, id, url, ...(token && { token }), ...(scheme && { authentication: { scheme } }) }
}
