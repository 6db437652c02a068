import { resolve } from 'node:path'
import { invalidInput } from '../protocol/index.ts'
import { dataPath } from './data.ts'
import type { Flags } from './flags.ts'

/** Where threads are stored. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | {
      readonly kind: 'postgres'
      readonly url: string
      /** Where to listen for changes, if that is not `url`. */
      readonly listenUrl?: string | undefined
    }

export type StoreFlags = Pick<Flags, 'store' | 'data' | 'listen-url'>

type Environment = Readonly<Record<string, string | undefined>>

const op = 'millrace'

/** The store named by the flags or, without them, by the environment. */
export function storeAddress(flags: StoreFlags, env: Environment = process.env): StoreAddress {
  const address = givenAddress(flags, env)
  const listenUrl = flags['listen-url'] ?? (env.MILLRACE_LISTEN_URL?.trim() || undefined)
  if (listenUrl === undefined || address.kind === 'sqlite') return address
  const name = flags['listen-url'] === undefined ? 'MILLRACE_LISTEN_URL' : '--listen-url'
  const listening = readStoreAddress(listenUrl, name)
  if (listening.kind === 'postgres') return { ...address, listenUrl: listening.url }
  throw unknownScheme(name, undefined, 'postgres://…')
}

function givenAddress({ store, data }: StoreFlags, env: Environment): StoreAddress {
  if (store !== undefined && data !== undefined)
    throw invalidInput(
      op,
      '--store and --data cannot be combined: --data FILE is the same as --store sqlite:FILE',
    )
  if (store !== undefined) return readStoreAddress(store, '--store')
  const set = env.MILLRACE_STORE?.trim()
  if (set && data === undefined) return readStoreAddress(set, 'MILLRACE_STORE')
  return { kind: 'sqlite', path: dataPath(data, env) }
}

/** Reads `postgres://…`, `sqlite:FILE` or the path of a file. `name` is the flag or variable. */
export function readStoreAddress(text: string, name: string): StoreAddress {
  const [, scheme, rest = ''] = /^([a-z][a-z\d+.-]+):(.*)$/is.exec(text) ?? []
  switch (scheme?.toLowerCase()) {
    case 'postgres':
    case 'postgresql':
      return { kind: 'postgres', url: checkUrl(text, name) }
    case undefined:
      return sqliteFile(text, name)
    case 'sqlite':
      return sqliteFile(rest.replace(/^\/\//, ''), name)
    default:
      throw unknownScheme(name, scheme, 'postgres://…, sqlite:FILE or the path of a file')
  }
}

function sqliteFile(path: string, name: string): StoreAddress {
  if (path.trim() === '') throw invalidInput(op, `${name} needs a file, such as sqlite:threads.db`)
  return { kind: 'sqlite', path: resolve(path) }
}

/** The address for people to read, without its password. */
export function shownStore(address: StoreAddress): string {
  return address.kind === 'sqlite' ? address.path : withoutPassword(address.url)
}

/** Text that is not a URL is returned as it is. */
export function withoutPassword(text: string): string {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  const inQuery = url.searchParams.has('password')
  if (!url.password && !inQuery) return text
  if (url.password) url.password = '***'
  if (inQuery) url.searchParams.set('password', '***')
  return url.href
}

/** The message never repeats the URL, which may contain a password. */
export function checkUrl(text: string, name: string): string {
  if (URL.canParse(text)) return text
  throw invalidInput(
    op,
    `${name} is not a valid URL: percent-encode special characters in its password, such as # as %23`,
  )
}

export function unknownScheme(name: string, scheme: string | undefined, allowed: string) {
  return invalidInput(op, `${name} must be ${allowed}${scheme === undefined ? '' : `, not ${scheme}:`}`)
}
