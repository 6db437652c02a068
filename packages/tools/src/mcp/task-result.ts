import { isObject } from 'millrace/internal'
import type { Transport } from './sdk.ts'

export const tasksExtension = 'io.modelcontextprotocol/tasks'

const mark = 'millrace/task'

type Message = Parameters<NonNullable<Transport['onmessage']>>[0]

/** Makes the task that answers a call a result that the SDK accepts. */
export function acceptTask(message: Message): Message {
  const result = 'result' in message && isObject(message.result) ? message.result : undefined
  const task = result?.resultType === 'task' ? result : result?.task
  if (!isObject(task) || typeof task.taskId !== 'string') return message
  const accepted = { resultType: 'complete', content: [], _meta: { [mark]: task.taskId } }
  return { ...message, result: accepted } as Message
}

/** The id of the task that a call became. */
export function taskIdOf(result: { readonly _meta?: Readonly<Record<string, unknown>> | undefined }) {
  const id = result._meta?.[mark]
  return typeof id === 'string' ? id : undefined
}
