import { checkOptions, invalidInput } from '../protocol/index.ts'
import type { Field, Fields } from '../protocols/index.ts'
import { checkFields, httpError, parseJson } from '../protocols/index.ts'
import type { Connection } from './connection.ts'

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

interface BodyFrom {
  readonly connection: Connection | undefined
  readonly most: number
}

/** The body as the fields that a route takes; one that is not there has none. */
export async function readJsonBody(
  request: Request,
  fields: Fields,
  from: BodyFrom,
): Promise<Record<string, unknown>> {
  const read = await readJson(request, from)
  return checkFields(read === undefined ? {} : read, fields, { op, what: 'the body' })
}

/** The body as JSON; undefined if there is none. */
export async function readJson(request: Request, from: BodyFrom): Promise<unknown> {
  const bytes = await readBody(request, from)
  if (bytes.length === 0) return undefined
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    throw httpError(415, 'invalid_input', 'the body must be JSON, with content-type: application/json')
  return parse(bytes)
}

/** The body as it came. Throws 413 past `most`. */
export async function readBody(
  request: Request,
  { connection, most }: BodyFrom,
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
    throw httpError(400, 'invalid_input', 'the body is not UTF-8')
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
  return httpError(413, 'invalid_input', `the body is larger than ${most} bytes`)
}
