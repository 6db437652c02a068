import { isObject, kindOf, messageOf, sseReader } from 'millrace/internal'
import type { StreamResponse } from './wire.ts'
import { protocolVersion } from './wire.ts'

export type A2aHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

/** The remote agent has rejected a request. Sending it again would not help. */
export class RemoteError extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export interface ConnectionOptions {
  readonly url: string
  readonly headers: A2aHeaders | undefined
  readonly fetch: typeof fetch
}

/** The JSON-RPC binding of a remote agent. Rejects with `RemoteError`, or if there is no answer. */
export interface Connection {
  call(method: string, params: object, signal: AbortSignal): Promise<unknown>
  /** Ends without an error also if the connection is lost: only the state of the task tells. */
  stream(method: string, params: object, signal: AbortSignal): AsyncGenerator<StreamResponse, void>
}

/** Larger answers are not read: they would be too long for a model anyway. */
const maxChars = 8 * 1024 * 1024
/** Of the body of an HTTP error, in a message for the model. */
const maxErrorChars = 300

export function connectionTo({ url, headers, fetch }: ConnectionOptions): Connection {
  let lastId = 0

  async function post(
    method: string,
    params: object,
    accept: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...(typeof headers === 'function' ? await headers() : headers),
        'content-type': 'application/json',
        accept,
        'a2a-version': protocolVersion,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params }),
      // It could lead to another host, with our headers.
      redirect: 'error',
      signal,
    })
    if (response.ok) return response
    const text = await readText(response).catch(() => '')
    const body = parse(text)
    const { status } = response
    const message = isObject(body) && isObject(body.error) ? String(body.error.message) : text
    const error = `status ${status}${message && `: ${message.slice(0, maxErrorChars)}`}`
    // The server is starting, overloaded or behind a proxy that has lost it.
    throw status >= 500 || status === 429 ? new Error(error) : new RemoteError(status, error)
  }

  return {
    async call(method, params, signal) {
      const response = await post(method, params, 'application/json', signal)
      return resultOf(parse(await readText(response)))
    },
    async *stream(method, params, signal) {
      const response = await post(method, params, 'text/event-stream', signal)
      if (!/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
        yield resultOf(parse(await readText(response))) as StreamResponse
        return
      }
      let arrived: StreamResponse[] = []
      const reader = sseReader((data) => arrived.push(resultOf(parse(data)) as StreamResponse), { maxChars })
      for await (const bytes of bytesOf(response)) {
        reader.push(bytes)
        yield* arrived
        arrived = []
      }
    },
  }
}

/** Reads the card of an agent. Rejects with an explanation. */
export async function fetchJson(
  { url, headers, fetch }: ConnectionOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const sent = { ...(typeof headers === 'function' ? await headers() : headers), accept: 'application/json' }
  const response = await fetch(url, { headers: sent, redirect: 'error', signal })
  const text = await readText(response)
  if (!response.ok) throw new Error(`it answered with status ${response.status}`)
  const value = parse(text)
  if (value === undefined) throw new Error('the answer is not JSON')
  return value
}

async function* bytesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of bytesOf(response)) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > maxChars) throw new RemoteError(0, `the answer is longer than ${maxChars} characters`)
  }
  return text + decoder.decode()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function resultOf(response: unknown): unknown {
  if (!isObject(response)) throw new RemoteError(0, `the answer is not JSON-RPC, but ${kindOf(response)}`)
  const { error, result } = response
  if (isObject(error)) throw new RemoteError(Number(error.code), String(error.message))
  if (!isObject(result)) throw new RemoteError(0, 'the answer has no result')
  return result
}

/** Why a request failed, without the details that only Node knows. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`
}
