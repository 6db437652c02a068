import { checkOptions, invalidInput } from '../protocol/index.ts'
import type { Field, Fields } from '../protocols/index.ts'
import { checkFields, httpError, parseJson } from '../protocols/index.ts'
import type { Connection } from './connection.ts'

const op = 'server.fetch'

/**
 * Reads the declared query parameters. Others are ignored: they may be for `auth`, such as a token.
 */
export function readQuery(url: URL, fields: Fields = {}): Record<string, unknown> {
  return readStrings(fields, (name) => url.searchParams.get(name), 'the query parameter')
}

/** Reads the declared headers. An empty header counts as absent. */
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

interface BodySource {
  readonly connection: Connection | undefined
  readonly maxBytes: number
}

/** Reads a JSON body and checks its fields. A missing body counts as `{}`. */
export async function readJsonBody(
  request: Request,
  fields: Fields,
  from: BodySource,
): Promise<Record<string, unknown>> {
  const read = await readJson(request, from)
  return checkFields(read === undefined ? {} : read, fields, { op, what: 'the body' })
}

/** Reads a JSON body. Undefined if there is no body. */
export async function readJson(request: Request, from: BodySource): Promise<unknown> {
  const bytes = await readBody(request, from)
  if (bytes.length === 0) return undefined
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    throw httpError(415, 'invalid_input', 'the body must be JSON, with content-type: application/json')
  return parse(bytes)
}

/** Reads the raw body. Rejects with 413 past `maxBytes`. */
export async function readBody(
  request: Request,
  { connection, maxBytes }: BodySource,
): Promise<Uint8Array<ArrayBuffer>> {
  const declaredBytes = Number(request.headers.get('content-length') ?? 0)
  if (declaredBytes > maxBytes) throw tooLarge(maxBytes)
  return connection ? connection.readBody(maxBytes) : readStream(request.body, maxBytes)
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
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

export function tooLarge(maxBytes: number) {
  return httpError(413, 'invalid_input', `the body is larger than ${maxBytes} bytes`)
}
