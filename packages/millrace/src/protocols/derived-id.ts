import { isMillraceError } from '../protocol/index.ts'
import { encoder } from './once-per-entry.ts'
import type { Caller, FoundThread } from './protocol.ts'

/**
 * An id for the thread of a client that names its conversations itself: the same values give the
 * same id in every process, without a table. A UUID of version 8 from SHA-256 (RFC 9562, B.2).
 */
export async function derivedId(...values: readonly (string | undefined)[]): Promise<string> {
  // As JSON, since a value may contain any separator.
  const hash = await crypto.subtle.digest('SHA-256', encoder.encode(JSON.stringify(values)))
  const bytes = new Uint8Array(hash).subarray(0, 16)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/**
 * Finds the thread of a conversation by the id that the client gave it, and otherwise by the id
 * derived from that: the client may also know a thread that it did not create.
 */
export async function findThread(
  caller: Caller,
  id: string,
  derived: string,
): Promise<FoundThread | undefined> {
  for (const candidate of [id, derived])
    try {
      return await caller.getThread(candidate)
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'not_found') throw error
    }
  return undefined
}
