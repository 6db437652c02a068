import { isMillraceError } from '../protocol/index.ts'
import type { Http } from './http.ts'

/** A UUID of version 4. Not by `crypto.randomUUID`: a page that came without TLS has none. */
export function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const [, a, b, c, d, e] = /(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hex) as RegExpExecArray
  return `${a}-${b}-4${c}-8${d}-${e}`
}

/**
 * Makes a thread and gives its id. One that the caller has not named gets its name here: if it turns out to be there already,
 * then it is the one whose making was never heard of, and not somebody else's.
 */
export async function makeThread(
  http: Http,
  { op, path, body, id }: { op: string; path: string; body: object; id: string | undefined },
): Promise<string> {
  const name = id ?? uuid()
  const named = id !== undefined
  try {
    await http.ask({ op, method: 'POST', path, body: { ...body, id: name }, repeatable: !named })
  } catch (error) {
    if (named || !isMillraceError(error) || error.code !== 'conflict') throw error
  }
  return name
}
