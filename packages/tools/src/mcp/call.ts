import type { JsonObject, ToolContext } from 'millrace'
import { untilAborted } from '../until-aborted.ts'
import type { CallOptions } from './call-requests.ts'
import { truncate } from './failure.ts'
import { hasQuestions, recall } from './questions.ts'
import { callInSession, isOpen } from './session-call.ts'
import { callStateless } from './stateless-call.ts'

/** Calls a server's tool. Rejects with a message for the model. */
export async function callServer(
  input: JsonObject,
  context: ToolContext,
  options: CallOptions,
): Promise<unknown> {
  const { link, definition, label, isSafe } = options
  const { memory, decisions } = recall(context)
  const continues = memory !== undefined && (memory.task !== undefined || hasQuestions(memory))
  if (context.attempt > 1 && !continues && !isOpen(context) && !isSafe)
    throw new Error(
      'This call was interrupted while it was running. Whether it took effect is unknown, and it is not run again.',
    )
  const connection = await untilAborted(link.ready(), context.signal)
  const names = { tool: definition.name, server: label ?? truncate(connection.server.name, 100) }
  const attempt = { input, context, options, connection, names, memory, decisions }
  return connection.client.getProtocolEra() === 'modern' ? callStateless(attempt) : callInSession(attempt)
}
