import type { JsonObject, ToolContext } from 'millrace'
import { isObject } from 'millrace/internal'
import type { Question } from './questions.ts'
import type { McpSampling, SamplingRequest } from './sampling.ts'
import { sample } from './sampling.ts'

/** A request of the server in the course of a call. */
export interface InputRequest {
  readonly method: string
  readonly params?: JsonObject
}

/** Handles what a server asks in the course of a call. */
type RequestHandler = (request: InputRequest, signal: AbortSignal) => Promise<Record<string, unknown>>

/**
 * The requests that a server sends by itself (2025-11-25). They do not say which call they belong to, so
 * they go to the call of the task that they name, or to the one that started last.
 */
export interface ServerRequests {
  /** Returns a function that ends it. */
  open(call: { taskId?: string | undefined; handle: RequestHandler }): () => void
  handle: RequestHandler
}

export function serverRequests(): ServerRequests {
  const calls = new Set<Parameters<ServerRequests['open']>[0]>()
  return {
    open(call) {
      calls.add(call)
      return () => void calls.delete(call)
    },
    handle(request, signal) {
      const { taskId } = relatedTask(request)
      const call =
        [...calls].find((call) => taskId !== undefined && call.taskId === taskId) ?? [...calls].at(-1)
      if (!call) throw new Error('no call is running that this could belong to')
      return call.handle(request, signal)
    },
  }
}

function relatedTask({ params }: InputRequest): { taskId?: unknown } {
  const meta = isObject(params?._meta) ? params._meta : {}
  const related = meta['io.modelcontextprotocol/related-task']
  return isObject(related) ? related : {}
}

export const isQuestion = ({ method }: InputRequest) => method === 'elicitation/create'

export const questionIn = ({ params }: InputRequest) => ({ message: '', ...params }) as unknown as Question

/** Lets the model answer a server. `count` is how many requests of this call it has answered. */
export function answerWithModel(
  { method, params }: InputRequest,
  {
    context,
    sampling,
    count,
  }: { readonly context: ToolContext; readonly sampling: McpSampling | undefined; readonly count: number },
) {
  if (method !== 'sampling/createMessage') throw new Error(`this client does not support ${method}`)
  if (!sampling) throw new Error('this client has no model for servers')
  const { maxRequests = 10 } = sampling
  if (count >= maxRequests) throw new Error(`a call may ask the model at most ${maxRequests} times`)
  return sample(params as unknown as SamplingRequest, context, sampling)
}
