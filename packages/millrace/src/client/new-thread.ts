import { isMillraceError } from '../protocol/index.ts'
import type { Http } from './http.ts'

/** A version 4 UUID. `crypto.randomUUID` is not available on pages without TLS. */
export function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const [, a, b, c, d, e] = /(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hex) as RegExpExecArray
  return `${a}-${b}-4${c}-8${d}-${e}`
}

/**
 * Creates a thread and resolves with its id. If the caller has not chosen an id, it is generated
 * here: a conflict then means that an earlier attempt succeeded and only its response was lost.
 */
export async function createThread(
  http: Http,
  { op, path, body, id }: { op: string; path: string; body: object; id: string | undefined },
): Promise<string> {
  const threadId = id ?? uuid()
  const isChosen = id !== undefined
  try {
    await http.request({ op, method: 'POST', path, body: { ...body, id: threadId }, repeatable: !isChosen })
  } catch (error) {
    if (isChosen || !isMillraceError(error) || error.code !== 'conflict') throw error
  }
  return threadId
}
