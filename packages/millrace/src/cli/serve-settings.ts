import { availableParallelism } from 'node:os'
import { invalidInput } from '../protocol/index.ts'
import type { Flags } from './flags.ts'
import type { StoreAddress } from './store-address.ts'
import { checkUrl, storeAddress, unknownScheme } from './store-address.ts'

export interface ServeSettings {
  readonly port: number
  readonly host: string
  readonly token: string | undefined
  readonly address: StoreAddress
  readonly queue: Queue | undefined
  /** `web` serves clients, `worker` runs agents. */
  readonly role: 'web' | 'worker' | 'both'
  readonly keepDays: number | undefined
  /** How many processes to supervise. Undefined: this process is the only one. */
  readonly processes: number | undefined
}

type Queue = { readonly redis: string } | { readonly postgres: string }

type Environment = Readonly<Record<string, string | undefined>>

const op = 'millrace'

/** Reads the flags of `millrace serve` that are not about its agents. */
export function serveSettings(flags: Flags, env: Environment = process.env): ServeSettings {
  const address = storeAddress(flags, env)
  const queue = settingOf('queue', flags, env)
  if (queue && address.kind !== 'postgres')
    throw invalidInput(
      op,
      `${queue.name} needs a PostgreSQL store, set with --store or MILLRACE_STORE: processes that share a file find their work without a queue`,
    )
  const role = settingOf('role', flags, env)
  const processes = settingOf('processes', flags, env)
  return {
    port: readPort(flags.port ?? '8787'),
    host: flags.host ?? '127.0.0.1',
    token: (flags.token ?? env.MILLRACE_TOKEN)?.trim() || undefined,
    address,
    queue: queue && readQueue(queue),
    role: role ? readRole(role) : 'both',
    keepDays: flags['keep-days'] === undefined ? undefined : readDays(flags['keep-days']),
    processes: processes && readProcesses(processes),
  }
}

interface Setting {
  readonly value: string
  /** The flag or the variable, for messages. */
  readonly name: string
}

function settingOf(
  flag: 'queue' | 'role' | 'processes',
  flags: Flags,
  env: Environment,
): Setting | undefined {
  const given = flags[flag]
  if (given !== undefined) return { value: given, name: `--${flag}` }
  const name = `MILLRACE_${flag.toUpperCase()}`
  const value = env[name]?.trim()
  return value ? { value, name } : undefined
}

function readQueue({ value, name }: Setting): Queue {
  const [, scheme] = /^([a-z][a-z\d+.-]*):/i.exec(value) ?? []
  switch (scheme?.toLowerCase()) {
    case 'redis':
    case 'rediss':
      return { redis: checkUrl(value, name) }
    case 'postgres':
    case 'postgresql':
      return { postgres: checkUrl(value, name) }
    default:
      throw unknownScheme(name, scheme, 'redis://…, rediss://… or postgres://…')
  }
}

function readRole({ value, name }: Setting): ServeSettings['role'] {
  if (value === 'web' || value === 'worker' || value === 'both') return value
  throw invalidInput(op, `${name} must be web, worker or both, not '${value}'`)
}

/** More than any machine needs; a larger number is a typo. */
const maxProcesses = 1024

function readProcesses({ value, name }: Setting): number {
  if (value === 'auto') return availableParallelism()
  const count = Number(value)
  if (/^\d+$/.test(value) && count >= 1 && count <= maxProcesses) return count
  throw invalidInput(op, `${name} must be auto or a whole number from 1 to ${maxProcesses}, not '${value}'`)
}

function readDays(text: string): number {
  const days = Number(text)
  if (text.trim() !== '' && Number.isFinite(days) && days > 0) return days
  throw invalidInput(op, `--keep-days must be a positive number, not '${text}'`)
}

function readPort(text: string): number {
  const port = Number(text)
  if (text.trim() !== '' && Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw invalidInput(op, `--port must be a number from 0 to 65535, not '${text}'`)
}
