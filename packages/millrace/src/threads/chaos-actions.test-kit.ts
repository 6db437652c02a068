import type { ApprovalRequestEvent, Entry, InputMode } from '../protocol/index.ts'
import { isMillraceError } from '../protocol/index.ts'
import type { Instance, World } from './chaos.test-kit.ts'
import { sleep, within } from './chaos.test-kit.ts'
import { injected } from './chaos-store.test-kit.ts'
import type { Thread, ThreadStore } from './index.ts'

/** A reader of a thread, from the beginning. */
export interface Reader {
  readonly instance: Instance
  readonly thread: string
  readonly entries: Entry[]
  readonly abort: AbortController
  ended: boolean
  failure: unknown
  /** Its thread was deleted; a thread with that id is another one. */
  isStale: boolean
}

export interface Chaos extends World {
  /** The apps that users talk to. One that is closed or killed is replaced. */
  readonly active: Instance[]
  /** The threads that users know of. */
  readonly known: string[]
  readonly readers: Reader[]
  /** What users have requested; it may take longer than they wait. */
  readonly requests: { readonly instance: Instance; readonly done: Promise<unknown> }[]
  forks: number
  /** How many messages users have sent. */
  sent: number
}

export interface Action {
  readonly do: keyof typeof actions
  readonly slot: number
  readonly thread: number
  readonly n: number
}

/** One action, with what it applies to. */
interface Step {
  readonly chaos: Chaos
  readonly slot: number
  readonly instance: Instance
  readonly thread: Thread
  readonly n: number
}

/** Everything that can happen: to a thread, by users, and to the app they talk to. */
export const actions = {
  queue: send('queue'),
  steer: send('steer'),
  interrupt: send('interrupt'),
  stop: (step: Step) => request(step, step.thread.stop()),
  approve: (step: Step) => decide(step, true),
  deny: (step: Step) => decide(step, false),
  rewind,
  edit: async (step: Step) => {
    await rewind(step)
    await send('queue')(step)
  },
  waitBriefly: ({ n }: Step) => sleep(n % 4),
  wait: ({ n }: Step) => sleep(10 + (n % 80)),
  fork,
  delete: remove,
  recreate,
  close,
  kill({ chaos, instance, slot }: Step) {
    instance.link.kill()
    chaos.active[slot] = chaos.open()
  },
  // Up to twice as long as a lease lasts.
  freeze: ({ instance, n }: Step) => instance.link.freeze((n % 3) * 60),
  failAppend: ({ instance, n }: Step) => instance.link.fail('append', 1 + (n % 2)),
  failRead: ({ instance }: Step) => instance.link.fail('read', 1),
  failAny: ({ instance, n }: Step) => instance.link.fail(failable[n % failable.length] ?? 'get', 1),
  loseAppend: ({ instance, n }: Step) => instance.link.loseAcknowledgements('append', 1 + (n % 3)),
  loseSignal: ({ instance }: Step) => instance.link.loseAcknowledgements('signal', 1),
  loseAny: ({ instance, n }: Step) =>
    instance.link.loseAcknowledgements(failable[n % failable.length] ?? 'claim', 1),
  pack: async ({ chaos: { store }, thread: { id } }: Step) =>
    store.packDeltas(id, (await store.get(id))?.head ?? 0).catch(() => {}),
  read: (step: Step) => read(step, 0),
  readSlowly: (step: Step) => read(step, 3),
}

/** After any of these, the log may contain a request that no model has seen. */
export const disruptive = /stop|interrupt|rewind|edit|close|kill|freeze|fail|lose/

const failable: readonly (keyof ThreadStore)[] = [
  ...(['claim', 'renew', 'release', 'findRunnable'] as const),
  ...(['get', 'create', 'signal', 'append', 'read', 'packDeltas', 'saveSnapshot', 'heads'] as const),
]

function send(mode: InputMode) {
  return (step: Step) => {
    const message = `m${step.n} ${++step.chaos.sent}`
    const options = { mode, key: message }
    // A client that got no answer sends it again, under the same key.
    const sendOnce = () => step.thread.send(message, options)
    return request(
      step,
      sendOnce().catch((error) => (isInjected(error) ? sendOnce() : Promise.reject(error))),
    )
  }
}

function isInjected(error: unknown): boolean {
  return String(error).includes(injected)
}

/** Users wait a moment for a request, and then do something else. */
async function request({ chaos, instance }: Step, pending: Promise<unknown>): Promise<void> {
  const done = pending.catch((error: unknown) => {
    const isKnown = isMillraceError(error) && /conflict|not_found|invalid_input/.test(error.code)
    if (!isKnown && !isInjected(error)) throw error
  })
  done.catch(() => {})
  chaos.requests.push({ instance, done })
  await Promise.race([done.catch(() => {}), sleep(30)])
}

async function decide(step: Step, approved: boolean): Promise<void> {
  const { thread, n } = step
  const seen: ApprovalRequestEvent[] = []
  await request(
    step,
    thread.state().then(({ approvals }) => seen.push(...approvals)),
  )
  for (const { callId, wants } of n % 3 === 0 ? seen.slice(0, 1) : seen)
    await request(
      step,
      wants && approved ? thread.respond(callId, `result ${n}`) : thread.approve(callId, { approved }),
    )
}

/** To before an input, a run or an earlier rewind, whether it is still part of the conversation or not. */
async function rewind(step: Step): Promise<void> {
  const { thread, n } = step
  const places: number[] = []
  await request(
    step,
    thread.read({ limit: 100_000 }).then((entries) => {
      for (const { seq, event } of entries)
        if (/^(input|run-start|rewind)$/.test(event.type)) places.push(seq)
    }),
  )
  const before = places.at(-1 - (n % places.length))
  if (before !== undefined) await request(step, thread.rewind(before))
}

async function fork(step: Step): Promise<void> {
  const { chaos, thread, n } = step
  const info = await chaos.store.get(thread.id)
  if (!info) return
  const id = `fork${++chaos.forks}`
  await request(step, thread.fork(n % (info.head + 1), { id }))
  if (await chaos.store.get(id)) chaos.known.push(id)
}

async function remove(step: Step): Promise<void> {
  const { chaos, thread } = step
  if (chaos.known.length === 1) return
  chaos.known.splice(chaos.known.indexOf(thread.id), 1)
  markStale(step)
  await request(step, thread.delete())
  // Through a frozen link it may take too long.
  await chaos.store.delete(thread.id)
}

async function recreate(step: Step): Promise<void> {
  const { instance, thread } = step
  // Otherwise users would know of a thread that does not exist.
  if (!instance.link.isClear) return
  markStale(step)
  await within(thread.delete(), 'a thread to be deleted')
  await within(thread.send('again'), 'a thread to be created again')
}

function markStale({ chaos, thread }: Step) {
  for (const reader of chaos.readers) if (reader.thread === thread.id) reader.isStale = true
}

async function close({ chaos, instance, slot, n }: Step): Promise<void> {
  instance.link.thaw()
  instance.closing = instance.app.close({ graceMs: n % 5 })
  chaos.active[slot] = chaos.open()
  if (n % 2 === 0) await within(instance.closing, 'an app to close')
}

function read({ chaos, instance, thread }: Step, paceMs: number) {
  const abort = new AbortController()
  const reader: Reader = {
    instance,
    thread: thread.id,
    entries: [],
    abort,
    ended: false,
    failure: undefined,
    isStale: false,
  }
  chaos.readers.push(reader)
  const reading = async () => {
    for await (const entry of thread.follow({ signal: abort.signal })) {
      reader.entries.push(entry)
      if (paceMs > 0) await sleep(paceMs)
    }
  }
  void reading()
    .catch((error: unknown) => {
      reader.failure = error
    })
    .finally(() => {
      reader.ended = true
    })
}
