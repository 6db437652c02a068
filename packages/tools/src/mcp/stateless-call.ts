import type { CallToolResult } from '@modelcontextprotocol/client'
import { isHandover, isObject } from 'millrace/internal'
import type { Attempt, CallRequests, Outcome } from './call-requests.ts'
import { callRequests } from './call-requests.ts'
import { truncate } from './failure.ts'
import type { Answers, CallMemory, Question } from './questions.ts'
import { askPeople, byKey, emptyMemory, hasQuestions, readAnswers, remember } from './questions.ts'
import { answerWithModel, isQuestion, questionIn } from './requests.ts'
import { toResult } from './result.ts'
import { askAboutTask, pollTask, untilReached } from './server-task.ts'

/** Since 2026-07-28 a server asks by its answer, and all that it needs is in the next request. */
export async function callStateless(attempt: Attempt): Promise<unknown> {
  const { context, options } = attempt
  const requests = callRequests(attempt)
  let memory = attempt.memory ?? emptyMemory
  let more: ReturnType<typeof answersTo> | undefined
  const cancel = () => {
    if (!isHandover(context.signal.reason)) requests.cancelTask(memory.task)
  }
  context.signal.addEventListener('abort', cancel, { once: true })

  function suspend(answers?: Answers) {
    const { task } = memory
    // The run may be stopped while it waits.
    if (task !== undefined)
      context.runSignal.addEventListener('abort', () => requests.cancelTask(task), { once: true })
    return askPeople(attempt, memory, answers).suspended
  }

  if (hasQuestions(memory)) {
    const answers = await readAnswers(memory, attempt.decisions, options.sdk)
    if (answers.given.size < Object.keys(memory.questions).length) return suspend(answers)
    more = answersTo(memory, byKey(memory, answers))
    memory = { ...memory, questions: {}, responses: {} }
    // The call takes effect at most once. A task can be updated again.
    if (memory.task === undefined) remember(context, memory)
  }

  for (;;) {
    const { task } = memory
    if (task !== undefined && more) {
      const params = more
      const update = untilReached(
        (connection) =>
          askAboutTask(connection, 'tasks/update', task, { params, timeoutMs: options.timeoutMs }),
        requests.waiting(),
      )
      await requests.explained(update)
      memory = { ...memory, answered: [...(memory.answered ?? []), ...Object.keys(params.inputResponses)] }
      remember(context, memory)
    }
    const outcome = await (task === undefined
      ? requests.send(more)
      : requests.explained(taskOutcome({ ...memory, task }, attempt, requests)))
    if (outcome.type === 'result') return toResult(outcome.result)
    more = undefined
    if (outcome.type === 'task') {
      memory = { ...memory, task: outcome.taskId }
      remember(context, memory)
      await context.commit()
      if (context.signal.aborted) cancel()
      continue
    }
    memory = await requests.explained(withRequests(memory, outcome, attempt))
    if (hasQuestions(memory)) return suspend()
    more = answersTo(memory, memory.responses)
  }
}

function answersTo({ requestState }: CallMemory, inputResponses: Readonly<Record<string, unknown>>) {
  return { inputResponses, ...(requestState !== undefined && { requestState }) }
}

/** What the server wants first: people will be asked its questions, and a model answers the rest. */
async function withRequests(
  { requestState: _, ...memory }: CallMemory,
  { requests, requestState }: Extract<Outcome, { type: 'input' }>,
  { context, options: { sampling } }: Attempt,
): Promise<CallMemory> {
  let { asked, sampled } = memory
  const questions: Record<string, { key: string; question: Question }> = {}
  const responses: Record<string, unknown> = {}
  for (const [key, request] of Object.entries(requests))
    if (isQuestion(request)) questions[`ask_${++asked}`] = { key, question: questionIn(request) }
    else responses[key] = await answerWithModel(request, { context, sampling, count: sampled++ })
  return {
    ...memory,
    asked,
    sampled,
    questions,
    responses,
    ...(requestState !== undefined && { requestState }),
  }
}

/** Waits until a task has ended, or wants something that it has not received. */
async function taskOutcome(
  { task: taskId, answered = [] }: CallMemory & { readonly task: string },
  { names }: Attempt,
  { report, waiting }: CallRequests,
): Promise<Outcome> {
  // A server may show requests until it has read the answers.
  const unanswered = (requests: Extract<Outcome, { type: 'input' }>['requests'] = {}) =>
    Object.entries(requests).filter(([key]) => !answered.includes(key))
  const { status, inputRequests, statusMessage, result, error } = await pollTask(taskId, {
    ...waiting(),
    onStatus: (message) => report({ message }),
    isDone: ({ status, inputRequests }) =>
      status !== 'working' && (status !== 'input_required' || unanswered(inputRequests).length > 0),
  })
  if (status === 'input_required')
    return { type: 'input', requests: Object.fromEntries(unanswered(inputRequests)) }
  if (status === 'completed') return { type: 'result', result: resultIn(result) }
  const { message = statusMessage ?? '' } = error ?? {}
  throw new Error(
    `The task of the MCP server '${names.server}' ${status === 'cancelled' ? 'was canceled' : 'failed'}${message ? `: ${truncate(String(message))}` : ''}`,
  )
}

function resultIn(result: unknown): CallToolResult {
  const given = isObject(result) ? result : {}
  return { ...given, content: Array.isArray(given.content) ? given.content : [] } as CallToolResult
}
