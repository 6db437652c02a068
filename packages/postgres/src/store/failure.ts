import { MillraceError } from 'millrace'
import { isObject, messageOf } from 'millrace/internal'

// Error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html

function codeOf(error: unknown): string {
  return isObject(error) && typeof error.code === 'string' ? error.code : ''
}

/** Whether a code is one of PostgreSQL's: five characters. Others are the network's. */
function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code)
}

const temporary = new Set([
  '25006', // Read-only: this server was the primary, and another one has taken over.
  '40001', // Serialization failure.
  '40P01', // Deadlock.
  '53300', // Too many connections.
  '55P03', // A lock is not available.
  '57014', // Canceled, for example by a timeout of the server.
  '57P01', // The server shuts down,
  '57P02', // has crashed,
  '57P03', // or is starting.
  '57P05', // The session was idle.
])

/** Whether the same may succeed on another connection, a little later. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof MillraceError) return false
  const code = codeOf(error)
  if (isUnprepared(error)) return true
  if (isSqlState(code)) return temporary.has(code) || code.startsWith('08')
  // Such as ECONNRESET, or "Connection terminated unexpectedly", which has no code.
  return error instanceof Error && !(error instanceof TypeError || error instanceof RangeError)
}

/** A prepared statement belongs to another connection: there is a proxy in between. */
export function isUnprepared(error: unknown): boolean {
  const code = codeOf(error)
  return code === '26000' || code === '42P05'
}

export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === '23505'
}

/** Where a server is, without the password. */
export function placeOf(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url)
    return `${hostname || 'localhost'}:${port || 5432}${pathname}`
  } catch {
    return 'the given address'
  }
}

interface Origin {
  readonly op: string
  readonly place: string
  readonly schema: string
}

/** Describes what is wrong and what to do. Returns our own errors unchanged. */
export function failure(error: unknown, { op, place, schema }: Origin): MillraceError {
  if (error instanceof MillraceError) return error
  return new MillraceError({
    op,
    code: 'store_error',
    message: messageFor(error, place, schema),
    retryable: isTemporary(error),
    cause: error,
  })
}

function messageFor(error: unknown, place: string, schema: string): string {
  const code = codeOf(error)
  const what = messageOf(error)
  if (!isSqlState(code))
    return `PostgreSQL at ${place} cannot be reached (${what}): check that it is running, and that this machine may connect to it`
  if (code === '28P01' || code === '28000')
    return `PostgreSQL at ${place} rejected the login (${what}): check the user and the password in its address`
  if (code === '3D000') return `PostgreSQL at ${place}: ${what}. Create the database, or use another one`
  if (code === '42501')
    return `PostgreSQL at ${place}: ${what}. Grant the user all privileges on schema '${schema}', or CREATE on the database so that it can create it`
  if (code === '53300')
    return `PostgreSQL at ${place} has too many connections: raise max_connections, use fewer processes or a smaller 'connections' option, or put PgBouncer in between`
  if (code === '53100') return `the disk of PostgreSQL at ${place} is full: free some space`
  if (code === '25006') return `PostgreSQL at ${place} is read-only: connect to the primary, not to a replica`
  return `PostgreSQL at ${place} reported an error: ${what} (${code})`
}
