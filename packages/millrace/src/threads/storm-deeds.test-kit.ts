import type { Entry, InputMode } from '../protocol/index.ts'
import { isMillraceError } from '../protocol/index.ts'
import type { Thread, ThreadStore } from './index.ts'
import type { Side, World } from './storm.test-kit.ts'
import { sleep, within } from './storm.test-kit.ts'
import { injected } from './storm-line.test-kit.ts'

/** Somebody who reads a thread from its beginning. */
export interface Reader {
  readonly side: Side
  readonly thread: string
  readonly entries: Entry[]
  readonly abort: AbortController
  ended: boolean
  failure: unknown
  /** What it reads was deleted; a thread of that id is another one. */
  outlives: boolean
}

export interface Storm extends World {
  /** The apps that people speak to. One that is closed or killed makes room for another. */
  readonly desks: Side[]
  /** The threads that people know of. */
  readonly known: string[]
  readonly readers: Reader[]
  /** What people have asked for: it may take longer than they wait. */
  readonly asks: { readonly side: Side; readonly done: Promise<unknown> }[]
  forks: number
}

export interface Act {
  readonly do: keyof typeof deeds
  readonly desk: number
  readonly thread: number
  readonly n: number
}

/** One act, with what it is done to. */
interface Turn {
  readonly storm: Storm
  readonly desk: number
  readonly side: Side
  readonly thread: Thread
  readonly n: number
}

/** What can be done: by people to a thread, and to the app that they speak to. */
export const deeds = {
  queue: say('queue'),
  steer: say('steer'),
  interrupt: say('interrupt'),
  stop: (turn: Turn) => ask(turn, turn.thread.stop()),
  approve: (turn: Turn) => decide(turn, true),
  decline: (turn: Turn) => decide(turn, false),
  waitBriefly: ({ n }: Turn) => sleep(n % 4),
  wait: ({ n }: Turn) => sleep(10 + (n % 80)),
  fork,
  delete: remove,
  recreate,
  close,
  kill({ storm, side, desk }: Turn) {
    side.line.kill()
    storm.desks[desk] = storm.open()
  },
  // Up to twice as long as a lease lasts.
  freeze: ({ side, n }: Turn) => side.line.freeze((n % 3) * 60),
  refuseAppend: ({ side, n }: Turn) => side.line.refuse('append', 1 + (n % 2)),
  refuseRead: ({ side }: Turn) => side.line.refuse('read', 1),
  refuseAny: ({ side, n }: Turn) => side.line.refuse(refusable[n % refusable.length] ?? 'get', 1),
  compact: async ({ storm: { store }, thread: { id } }: Turn) =>
    store.compact(id, (await store.get(id))?.head ?? 0).catch(() => {}),
  read: (turn: Turn) => read(turn, 0),
  readSlowly: (turn: Turn) => read(turn, 3),
}

/** After any of these a request may be in the log that no model has seen. */
export const rough = /stop|interrupt|close|kill|freeze|refuse/

const refusable: readonly (keyof ThreadStore)[] = [
  ...(['claim', 'renew', 'release', 'stranded'] as const),
  ...(['get', 'create', 'signal', 'append', 'read', 'compact'] as const),
]

function say(mode: InputMode) {
  return (turn: Turn) => ask(turn, turn.thread.send(`m${turn.n}`, { mode }))
}

/** People wait a moment for what they asked for, and then do something else. */
async function ask({ storm, side }: Turn, asked: Promise<unknown>): Promise<void> {
  const done = asked.catch((error: unknown) => {
    const isKnown = isMillraceError(error) && /conflict|not_found|invalid_input/.test(error.code)
    if (!isKnown && !String(error).includes(injected)) throw error
  })
  done.catch(() => {})
  storm.asks.push({ side, done })
  await Promise.race([done.catch(() => {}), sleep(30)])
}

async function decide(turn: Turn, approved: boolean): Promise<void> {
  const { thread, n } = turn
  const seen: string[] = []
  await ask(
    turn,
    thread.state().then(({ approvals }) => seen.push(...approvals.map(({ callId }) => callId))),
  )
  for (const callId of n % 3 === 0 ? seen.slice(0, 1) : seen)
    await ask(turn, thread.approve(callId, { approved }))
}

async function fork(turn: Turn): Promise<void> {
  const { storm, thread, n } = turn
  const info = await storm.store.get(thread.id)
  if (!info) return
  const id = `fork${++storm.forks}`
  await ask(turn, thread.fork(n % (info.head + 1), { id }))
  if (await storm.store.get(id)) storm.known.push(id)
}

async function remove(turn: Turn): Promise<void> {
  const { storm, thread } = turn
  if (storm.known.length === 1) return
  storm.known.splice(storm.known.indexOf(thread.id), 1)
  noteDeletion(turn)
  await ask(turn, thread.delete())
  // Through a line that is held up it may take too long.
  await storm.store.delete(thread.id)
}

async function recreate(turn: Turn): Promise<void> {
  const { side, thread } = turn
  // Or people would know of a thread that is not there.
  if (!side.line.isClear) return
  noteDeletion(turn)
  await within(thread.delete(), 'a thread to be deleted')
  await within(thread.send('anew'), 'it to be made anew')
}

function noteDeletion({ storm, thread }: Turn) {
  for (const reader of storm.readers) if (reader.thread === thread.id) reader.outlives = true
}

async function close({ storm, side, desk, n }: Turn): Promise<void> {
  side.line.thaw()
  side.closing = side.app.close({ graceMs: n % 5 })
  storm.desks[desk] = storm.open()
  if (n % 2 === 0) await within(side.closing, 'an app to close')
}

function read({ storm, side, thread }: Turn, paceMs: number) {
  const abort = new AbortController()
  const reader: Reader = {
    side,
    thread: thread.id,
    entries: [],
    abort,
    ended: false,
    failure: undefined,
    outlives: false,
  }
  storm.readers.push(reader)
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
