import type { JsonObject, JsonValue } from 'millrace'
import { isMillraceError } from 'millrace'
import { isObject, kindOf } from 'millrace/internal'
import type { HttpError } from 'millrace/server'
import type { ErrorReason } from '../a2a/wire.ts'
import { errorCodes, protocolVersion } from '../a2a/wire.ts'

export type RpcId = string | number | null

export interface RpcRequest {
  readonly id: RpcId
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/** An error that is the response to a request. */
export class RpcError extends Error {
  readonly reason: ErrorReason
  constructor(reason: ErrorReason, message: string) {
    super(message)
    this.reason = reason
  }
}

export const invalidParams = (message: string) => new RpcError('INVALID_PARAMS', message)

/** Reads a JSON-RPC request. Throws for one that is not. */
export function readRpc(body: unknown): RpcRequest {
  if (!isObject(body)) throw invalidRequest(`the request must be an object, not ${kindOf(body)}`)
  const { jsonrpc, id, method, params = {} } = body
  if (jsonrpc !== '2.0') throw invalidRequest("'jsonrpc' must be '2.0'")
  if (typeof method !== 'string') throw invalidRequest("'method' must be a string")
  if (!isObject(params)) throw invalidParams(`'params' must be an object, not ${kindOf(params)}`)
  return { id: idOf(id), method, params }
}

const invalidRequest = (message: string) => new RpcError('INVALID_REQUEST', message)

export function idOf(id: unknown): RpcId {
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** Patch versions do not count, and a missing header means 0.3 (3.6.2 of the specification). */
export function checkVersion({ headers, url }: Request): void {
  const version = headers.get('a2a-version') ?? new URL(url).searchParams.get('A2A-Version') ?? ''
  if (!/^\s*1(?:\.0(?:\.\d+)?)?\s*$/.test(version))
    throw new RpcError(
      'VERSION_NOT_SUPPORTED',
      `${version ? `version ${version} of A2A is not supported` : "without the header 'A2A-Version', version 0.3 of A2A is meant, which is not supported"}: send 'A2A-Version: ${protocolVersion}'`,
    )
}

export function rpcResult(id: RpcId, result: unknown) {
  return { jsonrpc: '2.0', id, result }
}

export function rpcError(id: RpcId, reason: ErrorReason, message: string, metadata?: JsonObject): JsonObject {
  const info: JsonValue = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'a2a-protocol.org',
    ...(metadata && { metadata }),
  }
  return { jsonrpc: '2.0', id, error: { code: errorCodes[reason], message, data: [info] } }
}

/**
 * The error to send for something that a method has thrown, if it is about the request. Everything
 * else has an HTTP status.
 */
export function requestError(thrown: unknown): { reason: ErrorReason; message: string } | undefined {
  if (thrown instanceof RpcError) return thrown
  if (!isMillraceError(thrown)) return undefined
  const { code, message } = thrown
  if (code === 'not_found') return { reason: 'TASK_NOT_FOUND', message: 'there is no such task or context' }
  return code === 'invalid_input' || code === 'conflict' ? { reason: 'INVALID_PARAMS', message } : undefined
}

/** What the server rejects before a method is called, and failures. */
export function httpErrorResponse({ status, code, message, retryAfterMs, id }: HttpError): Response {
  const reason = status >= 500 && status !== 503 ? 'INTERNAL_ERROR' : reasonOf(status)
  const metadata = {
    code,
    ...(retryAfterMs !== undefined && { retryAfterMs: `${retryAfterMs}` }),
    ...(id !== undefined && { errorId: id }),
  }
  return Response.json(rpcError(null, reason, message, metadata), { status })
}

function reasonOf(status: number): ErrorReason {
  if ([400, 405, 413, 415].includes(status)) return 'INVALID_REQUEST'
  return 'REJECTED'
}
