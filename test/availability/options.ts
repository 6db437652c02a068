// The options of the soak server and what follows from them. Low limits, so that they are reached
// within seconds.

const megabyte = 1024 * 1024

/** Request bodies, responses and queues of followers. */
const bufferBytes = 32 * megabyte
/** Logs of the threads with an active run. */
const maxRunBytes = 64 * megabyte
const cacheBytes = 16 * megabyte

export const appOptions = {
  leaseMs: 10_000,
  maxRuns: 200,
  maxRunBytes,
  cacheBytes,
  quotas: { runs: 10, waiting: 50, storedBytes: 512 * megabyte, bytesPerMinute: 32 * megabyte },
} as const

export const limits = {
  requestsPerSecond: 50,
  requestsAtOnce: 16,
  framesPerSecond: 50,
  connections: 2000,
  streams: 40,
  responseBytes: megabyte,
  bufferBytes,
} as const

/** The memory limit of the server process. */
export const memoryBound = 300 * megabyte + 2 * bufferBytes + 5 * maxRunBytes + 2 * cacheBytes

export const hostileUser = 'hostile'
export const tokenOf = (user: string) => `token-of-${user}`
export const userOf = (token: string) => /^token-of-(.+)$/.exec(token)?.[1]

/** The owner of a thread of the hostile caller that was not created over HTTP. */
export const hostileThread = { user: hostileUser, caller: hostileUser, agent: 'desk' } as const

/** The id of the hostile caller's very long thread. */
export const longThread = 'hostile-long'

export interface SoakSize {
  readonly callers: number
  readonly longEntries: number
  /** Tool calls in one round. */
  readonly calls: number
}

export const size: SoakSize = { callers: 50, longEntries: 100_000, calls: 10_000 }

/** The length of the answer to an ordinary message, after a tool call. */
const answerWords = 30
export const wordMs = 20
export const answerText = (id: string) =>
  Array.from({ length: answerWords }, (_, index) => `${id}.${index} `).join('')
