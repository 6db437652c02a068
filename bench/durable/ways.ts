import { basename, resolve } from 'node:path'
import type { Door } from './doors.ts'
import { hasRedis } from './redis.ts'

/** What a server under test is started with. */
export interface WayConfig {
  /** The address of the provider, which ends in `/v1`. */
  readonly provider: string
  /** An empty folder for its database. */
  readonly folder: string
  /** The checkout whose build is used, if it is another one. */
  readonly from?: string
  /** The address of a Redis server, for the ways that need one. */
  readonly redis?: string
}

/** A server under test. */
export interface Way {
  readonly name: string
  readonly title: string
  readonly ours: boolean
  /** Its file in `ways/`. */
  readonly file: string
  readonly door: Door
  readonly from?: string
  readonly needsRedis?: boolean
}

/** What the others are compared with. */
export const base = 'hub'

export const ways: readonly Way[] = [
  { name: 'hub', title: 'floor: a hub by hand, SQLite', ours: false, file: 'hub', door: 'runs' },
  {
    name: 'hub-worker',
    title: 'floor: the hub, SQLite in a thread',
    ours: false,
    file: 'hub-worker',
    door: 'runs',
  },
  { name: 'millrace', title: 'Millrace, SQLite, SSE', ours: true, file: 'millrace', door: 'threads' },
  {
    name: 'millrace-socket',
    title: 'Millrace, SQLite, WebSocket',
    ours: true,
    file: 'millrace',
    door: 'socket',
  },
  { name: 'hono', title: 'Hono SSE, no log', ours: false, file: 'hono', door: 'chat' },
  { name: 'ai-sdk', title: 'AI SDK and Hono, no log', ours: false, file: 'ai-sdk', door: 'chat' },
  {
    name: 'ai-sdk-resumable',
    title: 'AI SDK and resumable-stream, Redis',
    ours: false,
    file: 'ai-sdk-resumable',
    door: 'chat',
    needsRedis: true,
  },
]

/** A way by its name, or Millrace as the checkout at a path built it. */
export function wayOf(name: string): Way {
  const found = ways.find((way) => way.name === name)
  if (found) return found
  const from = resolve(name)
  return {
    name: basename(from),
    title: `Millrace of ${basename(from)}, SQLite, SSE`,
    ours: true,
    file: 'millrace',
    door: 'threads',
    from,
  }
}

/** Why a way cannot run on this machine. */
export const missing = ({ needsRedis }: Way) =>
  needsRedis && !hasRedis() ? 'redis-server is not installed' : undefined
