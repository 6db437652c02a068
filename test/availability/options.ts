// What the server of the soak is opened with, and what follows from it: modest, so that bounds are reached within seconds.

const megabyte = 1024 * 1024

/** Bodies being read, answers being sent and followers' queues. */
const bufferBytes = 32 * megabyte
/** Logs of the threads that are being worked on. */
const maxRunBytes = 64 * megabyte
const keptBytes = 16 * megabyte

export const appOptions = {
  leaseMs: 10_000,
  maxRuns: 200,
  maxRunBytes,
  keptBytes,
  quotas: { runs: 10, waiting: 50, storedBytes: 512 * megabyte, bytesPerMinute: 32 * megabyte },
} as const

export const limits = {
  requestsPerSecond: 50,
  requestsAtOnce: 16,
  framesPerSecond: 50,
  connections: 2000,
  streams: 40,
  answerBytes: megabyte,
  bufferBytes,
} as const

/** The most memory that the server's process may ever take. */
export const memoryBound = 300 * megabyte + 2 * bufferBytes + 5 * maxRunBytes + 2 * keptBytes

export const hostileUser = 'hostile'
export const tokenOf = (user: string) => `token-of-${user}`
export const userOf = (token: string) => /^token-of-(.+)$/.exec(token)?.[1]

/** How a thread belongs to the hostile caller that was not made over HTTP. */
export const hostileThread = { user: hostileUser, caller: hostileUser, agent: 'desk' } as const

/** The id of the hostile caller's very long thread. */
export const longThread = 'hostile-long'

export interface SoakSize {
  readonly callers: number
  readonly longEntries: number
  /** Calls in one round. */
  readonly calls: number
}

export const size: SoakSize = { callers: 50, longEntries: 100_000, calls: 10_000 }

/** What an ordinary message is answered with, after a call. */
const answerWords = 30
export const wordMs = 20
export const answerText = (id: string) =>
  Array.from({ length: answerWords }, (_, index) => `${id}.${index} `).join('')
