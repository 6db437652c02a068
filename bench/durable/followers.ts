import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { answer, configOf, usage } from '../harness/answer.ts'
import { type Histogram, histogram } from '../harness/measure.ts'
import { type Door, doors } from './doors.ts'
import { lastNumber, type WordCheck, wordCheck } from './words.ts'

// Starts runs and follows them, in its own process. Counts what arrives, and how late.

const { url, door } = configOf<{ url: string; door: Door }>()
const { hostname, port, host } = new URL(url)
const { start, followRequest, reader, lastWords, lastEvent } = doors[door](host)

interface Follower {
  readonly id: string
  readonly faults: string[]
  check: WordCheck
  socket: Socket
  /** The last two pieces. */
  tail: [string, string]
}

const all: Follower[] = []
/** Undefined while nothing is counted. */
let delays: Histogram | undefined
let words = 0
const onDelay = (ms: number) => delays?.add(ms)

const onlyHeartbeats = /^(:[^\n]*\n\n)+$/

const tailOf = ({ tail }: Follower) => tail.join('')

/** Connects a follower. Resolves when the server has answered, or the connection has failed. */
function open(follower: Follower, after?: number, onWords = () => {}): Promise<void> {
  const connection = Promise.withResolvers<void>()
  const { id, check, faults, tail } = follower
  const socket = connect(Number(port), hostname)
  follower.socket = socket
  socket.setNoDelay(true).setEncoding('latin1')
  const read = reader(
    (text) => {
      const came = check.take(text)
      if (came > 0) onWords()
      words += came
      // Heartbeats would push out the end of a run.
      if (onlyHeartbeats.test(text)) return
      tail[0] = tail[1]
      tail[1] = text
    },
    (bytes) => socket.write(bytes, 'latin1'),
  )
  let head: string | undefined = ''
  socket.on('data', (piece) => {
    if (head === undefined) return read(String(piece))
    head += String(piece)
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!/^HTTP\/1.1 (200|101) /.test(head)) faults.push(`got ${head.slice(0, 200)}`)
    const body = head.slice(end + 4)
    head = undefined
    connection.resolve()
    read(body)
  })
  socket.on('error', (error) => faults.push(error.message))
  socket.on('close', () => connection.resolve())
  socket.write(followRequest(id, after), 'latin1')
  return connection.promise
}

function follow(id: string): Promise<void> {
  const follower: Follower = {
    id,
    faults: [],
    check: wordCheck(onDelay),
    socket: undefined as never,
    tail: ['', ''],
  }
  all.push(follower)
  return open(follower)
}

/** Closes the connection and opens another one. Resolves with the time until the next word, in ms. */
async function reconnect(follower: Follower): Promise<number> {
  const { socket, check, faults } = follower
  socket.destroy()
  // A frame that did not come to its end comes again.
  const { after, bytes } = lastEvent(tailOf(follower))
  faults.push(...check.faults)
  follower.check = wordCheck(onDelay, lastNumber(bytes) + 1)
  follower.tail = ['', '']
  const begin = performance.now()
  await new Promise<void>((resolve) => void open(follower, after, resolve))
  return performance.now() - begin
}

interface Starting {
  readonly ids: readonly string[]
  readonly spreadMs: number
  readonly withinMs: number
}

/** Does it with one id after the other. Returns whether all were done in time. */
async function spread({ ids, spreadMs, withinMs }: Starting, work: (id: string) => Promise<void>) {
  const begin = performance.now()
  const done = Promise.all(
    ids.map(async (id, index) => {
      await wait(Math.max(0, begin + (index * spreadMs) / ids.length - performance.now()))
      await work(id)
    }),
  )
  return Promise.race([done.then(() => true), wait(spreadMs + withinMs, false)])
}

const asked = {
  /** Starts runs and follows each. */
  start: (starting: Starting) =>
    spread(starting, async (id) => {
      await start(url, id)
      await follow(id)
    }),
  follow: (starting: Starting) => spread(starting, follow),
  /** The last ones reconnect at once. */
  reconnect: (count: number) => Promise.all(all.slice(-count).map(reconnect)),
  begin() {
    delays = histogram()
  },
  /** Delays since the beginning. */
  end() {
    const counted = delays?.counts() ?? { max: 0, steps: [] }
    delays = undefined
    return counted
  },
  words: () => words,
  /**
   * Waits until the runs that ended were read to their ends, but not forever. Returns what is wrong
   * with them.
   */
  async finish({ said, withinMs }: { said: Readonly<Record<string, number>>; withinMs: number }) {
    const ended = all.filter(({ id }) => said[id] !== undefined)
    const hasEnd = (follower: Follower) => tailOf(follower).includes(lastWords)
    const isOpen = (follower: Follower) =>
      follower.check.count < (said[follower.id] ?? 0) || !hasEnd(follower)
    const deadline = performance.now() + withinMs
    while (ended.some(isOpen) && performance.now() < deadline) await wait(20)
    return ended.flatMap((follower) => {
      const { id, check, faults } = follower
      return [
        ...[...check.faults, ...faults].map((fault) => `${id}: ${fault}`),
        ...(check.count === said[id] ? [] : [`${id}: got ${check.count} of ${said[id]} words`]),
        ...(hasEnd(follower) ? [] : [`${id}: did not end`]),
      ]
    })
  },
  usage: usage(),
}
export type FollowersAnswers = typeof asked
answer(asked)
