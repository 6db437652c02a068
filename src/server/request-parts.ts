import type { Field, Fields } from '../channels/index.ts'
import { checkFields, parseJson } from '../channels/index.ts'
import { checkOptions, invalidInput } from '../protocol/index.ts'
import { refusal } from './refusal.ts'
import type { Connection } from './route.ts'

const op = 'server.fetch'

/** What the address asks for. What nobody here knows may be somebody else's, such as a token for `auth`. */
export function readQuery(url: URL, fields: Fields = {}): Record<string, unknown> {
  return readStrings(fields, (name) => url.searchParams.get(name), 'the query parameter')
}

/** One that is there and empty says nothing. */
export function readHeaders(headers: Headers, fields: Fields = {}): Record<string, unknown> {
  return readStrings(fields, (name) => headers.get(name) || null, 'the header')
}

function readStrings(fields: Fields, get: (name: string) => string | null, what: string) {
  const values: Record<string, unknown> = {}
  const table: Record<string, Field['problem']> = {}
  for (const [name, field] of Object.entries(fields)) {
    const value = get(name)
    if (value === null) {
      if (field.required) throw invalidInput(op, `${what} '${name}' is missing`)
      continue
    }
    values[name] = /^\d{1,15}$/.test(value) && takesNumbers(field) ? Number(value) : value
    table[name] = field.problem
  }
  checkOptions(values, table, { op, what })
  return values
}

function takesNumbers({ schema }: Field): boolean {
  const { type, anyOf } = schema
  return type === 'integer' || (Array.isArray(anyOf) && anyOf.some((one) => one.type === 'integer'))
}

/** The body as the fields that a route takes; one that is not there has none. */
export async function readJsonBody(
  request: Request,
  fields: Fields,
  { connection, most }: { connection: Connection | undefined; most: number },
): Promise<Record<string, unknown>> {
  const bytes = await readBody(request, { connection, most })
  if (bytes.length === 0) return checkFields({}, fields, { op, what: 'the body' })
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    throw refusal(415, 'invalid_input', 'the body must be JSON, with content-type: application/json')
  return checkFields(parse(bytes), fields, { op, what: 'the body' })
}

/** The body as it came. Throws 413 past `most`. */
export async function readBody(
  request: Request,
  { connection, most }: { connection: Connection | undefined; most: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > most) throw tooLarge(most)
  return connection ? connection.readBody(most) : readStream(request.body, most)
}

function parse(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refusal(400, 'invalid_input', 'the body is not UTF-8')
  }
  return parseJson(text, { op, what: 'the body' })
}

async function readStream(
  body: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > most) throw tooLarge(most)
    chunks.push(chunk)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

export function tooLarge(most: number) {
  return refusal(413, 'invalid_input', `the body is larger than ${most} bytes`)
}
