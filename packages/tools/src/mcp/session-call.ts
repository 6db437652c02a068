import type { CallToolResult } from '@modelcontextprotocol/client'
import type { ToolContext } from 'millrace'
import { isHandover } from 'millrace/internal'
import type { Attempt } from './call-requests.ts'
import { callRequests } from './call-requests.ts'
import type { Connection } from './connect.ts'
import { idleTimer } from './idle-timer.ts'
import type { Answers, CallMemory, Question, QuestionAnswer } from './questions.ts'
import { askPeople, emptyMemory, hasQuestions, readAnswers, remember, withoutQuestions } from './questions.ts'
import type { InputRequest } from './requests.ts'
import { answerWithModel, isQuestion, questionIn } from './requests.ts'
import { toResult } from './result.ts'
import { anyObject, untilReached } from './server-task.ts'

/** A call that the server has not answered. If it asks something, the call stays open while a person decides. */
interface OpenCall {
  /** Of the run that waits for the call now. */
  context: ToolContext
  memory: CallMemory
  readonly result: Promise<CallToolResult>
  hasEnded: boolean
  /** Resolves once there is a question. */
  asked: PromiseWithResolvers<void>
  /** Passes answers to the server, by the ids of the questions. */
  readonly answers: Map<string, (answer: QuestionAnswer) => void>
  cancel(reason: unknown): void
}

/** The calls whose runs are suspended, or continue after that. */
const openCalls = new Map<string, OpenCall>()

export const isOpen = ({ idempotencyKey }: ToolContext) => openCalls.has(idempotencyKey)

/** Until 2025-11-25 a server asks while the call is open. */
export async function callInSession(attempt: Attempt): Promise<unknown> {
  const { context, decisions, options } = attempt
  const call = openCalls.get(context.idempotencyKey) ?? openCall(attempt)
  call.context = context
  context.signal.addEventListener('abort', () => call.cancel(context.signal.reason), { once: true })
  const answers = await readAnswers(call.memory, decisions, options.sdk)
  for (const [id, answer] of answers.given) call.answers.get(id)?.(answer)
  if (answers.problems.size > 0) return ask(answers)
  call.memory = withoutQuestions(call.memory, answers.given.keys())
  if (hasQuestions(call.memory)) return ask()
  call.asked = Promise.withResolvers()
  const isAsked = await Promise.race([call.asked.promise.then(() => true), call.result.then(() => false)])
  return isAsked ? ask() : toResult(await call.result)

  function ask(answers?: Answers) {
    const { memory, open, suspended } = askPeople(attempt, call.memory, answers)
    call.memory = memory
    if (!call.hasEnded) openCalls.set(context.idempotencyKey, call)
    // The run may be stopped while it waits.
    context.runSignal.addEventListener('abort', () => call.cancel(context.runSignal.reason), { once: true })
    for (const { id, before } of open) {
      const resolve = call.answers.get(before)
      if (resolve) call.answers.set(id, resolve)
    }
    return suspended
  }
}

function openCall(attempt: Attempt): OpenCall {
  const { context, options, names, memory: remembered = emptyMemory, decisions } = attempt
  const { sdk, sampling, timeoutMs, maxTimeoutMs } = options
  if (hasQuestions(remembered) && remembered.task === undefined)
    throw new Error(
      `The MCP server '${names.server}' asked a question in this call, and the connection was lost before the answer: whether the call took effect is unknown.`,
    )
  const controller = new AbortController()
  const { signal } = controller
  const requests = callRequests(attempt, () => call.context)
  const timer = idleTimer({ timeoutMs, maxTimeoutMs }, (afterMs) => {
    requests.cancelTask(call.memory.task)
    controller.abort(
      new sdk.SdkError(sdk.SdkErrorCode.RequestTimeout, `Request timed out after ${afterMs} ms`),
    )
  })
  const receiver = { taskId: remembered.task, handle }
  const receive = (connection: Connection) => connection.requests.open(receiver)
  const sendOptions = { signal, onLife: timer.restart, isLong: true, onConnection: receive }
  const ended = Promise.withResolvers<CallToolResult>()
  const call: OpenCall = {
    context,
    memory: remembered,
    asked: Promise.withResolvers(),
    answers: new Map(),
    cancel(reason) {
      if (!call.hasEnded && !isHandover(reason)) requests.cancelTask(call.memory.task)
      controller.abort(reason)
    },
    result: ended.promise,
    hasEnded: false,
  }
  call.result.catch(() => {})
  const result = remembered.task === undefined ? start() : taskResult(remembered.task)
  void result.then(ended.resolve, ended.reject).finally(() => {
    timer.end()
    call.hasEnded = true
    openCalls.delete(context.idempotencyKey)
  })
  return call

  async function start(): Promise<CallToolResult> {
    const outcome = await requests.send(undefined, sendOptions)
    if (outcome.type === 'result') return outcome.result
    if (outcome.type === 'input') throw new Error('the server answered with a later version of the protocol')
    call.memory = { ...call.memory, task: outcome.taskId }
    remember(call.context, call.memory)
    await call.context.commit()
    return taskResult(outcome.taskId)
  }

  function taskResult(taskId: string): Promise<CallToolResult> {
    receiver.taskId = taskId
    const request = async (connection: Connection) => {
      const close = receive(connection)
      try {
        const asked = { method: 'tasks/result', params: { taskId } }
        const result = await connection.client.request(asked, anyObject, requests.requestOptions(sendOptions))
        return result as unknown as CallToolResult
      } finally {
        close()
      }
    }
    return requests.explained(untilReached(request, { ...requests.waiting(), signal }))
  }

  /** A request of the server. Its time does not count. */
  async function handle(request: InputRequest, signal: AbortSignal): Promise<Record<string, unknown>> {
    timer.pause()
    try {
      if (isQuestion(request)) return { ...(await askPerson(questionIn(request), signal)) }
      const count = call.memory.sampled
      call.memory = { ...call.memory, sampled: count + 1 }
      return { ...(await answerWithModel(request, { context: call.context, sampling, count })) }
    } finally {
      timer.restart()
    }
  }

  async function askPerson(question: Question, signal: AbortSignal): Promise<QuestionAnswer> {
    const before = answeredBefore(question)
    if (before) return before
    const asked = call.memory.asked + 1
    const id = `ask_${asked}`
    const questions = { ...call.memory.questions, [id]: { key: id, question } }
    call.memory = { ...call.memory, asked, questions }
    const answer = await new Promise<QuestionAnswer>((resolve) => {
      call.answers.set(id, resolve)
      // The server has given up.
      signal.addEventListener('abort', () => resolve({ action: 'cancel' }), { once: true })
      call.asked.resolve()
    })
    call.answers.delete(id)
    return answer
  }

  /** A server that was restarted with the task asks again what has been decided. */
  function answeredBefore(question: Question): QuestionAnswer | undefined {
    const textOf = ({ message, requestedSchema, url }: Question) =>
      JSON.stringify([message, requestedSchema, url])
    for (const [id, { question: before }] of Object.entries(remembered.questions)) {
      const decision = decisions.get(id)
      if (!decision || textOf(before) !== textOf(question)) continue
      call.memory = withoutQuestions(call.memory, [id])
      return decision.approved ? { action: 'accept', content: { ...decision.input } } : { action: 'decline' }
    }
    return undefined
  }
}
