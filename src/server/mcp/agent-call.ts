import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { Answered } from '../../channels/index.ts'
import { foldAnswer, publicError } from '../../channels/index.ts'
import type { MillraceError, ThreadInfo } from '../../protocol/index.ts'
import { invalidInput, isMillraceError } from '../../protocol/index.ts'
import type { App, Thread } from '../../threads/index.ts'
import { reportOf } from '../refusal.ts'
import type { Visitor } from '../visitors.ts'
import type { Place } from './approvals.ts'
import { askUser, decide, placeOf } from './approvals.ts'
import type { Progress } from './progress.ts'
import { progressOf } from './progress.ts'
import type { Asked } from './results.ts'
import { answerResult, errorResult, goingAwayResult, waitingResult } from './results.ts'
import type { Sdk } from './sdk.ts'

export interface AgentCallInput {
  readonly prompt?: string
  readonly thread?: string
}

export interface AgentCall {
  readonly agent: string
  readonly input: AgentCallInput
  readonly visitor: Visitor
  /** Whether the client can ask its user. */
  readonly canAsk: boolean
  readonly request: ServerContext['mcpReq']
}

export interface AgentCallsOptions {
  readonly app: App
  readonly sdk: Sdk
  /** Aborted when the server goes away. */
  readonly closing: AbortSignal
  readonly heartbeatMs: number
  readonly onError: (error: MillraceError) => void
}

const op = 'mcp.call'

/** Answers calls of the agents' tools. Never rejects: what goes wrong is a sentence for the caller's model. */
export function agentCalls({ app, sdk, closing, heartbeatMs, onError }: AgentCallsOptions) {
  /** A conversation that is there, as far as this visitor and this tool are concerned. */
  async function reach(id: string, { agent, visitor }: AgentCall) {
    const found = await visitor.reach(id).catch((error: unknown) => {
      if (isMillraceError(error) && error.code === 'not_found')
        throw invalidInput(op, `there is no thread '${id}' here: leave thread out to begin a new one`)
      throw error
    })
    if (found.info.agent !== agent)
      throw invalidInput(
        op,
        `the thread '${id}' is one of the agent '${found.info.agent}': go on with it by that agent's tool, or leave thread out`,
      )
    return found
  }

  async function open(call: AgentCall) {
    const { agent, visitor, input } = call
    if (input.prompt === undefined)
      throw invalidInput(
        op,
        'a new conversation needs a prompt; without one, say which thread you want to hear of',
      )
    const { id } = await app.thread(undefined, { agent, user: visitor.user }).create({ anew: true })
    return reach(id, call)
  }

  async function answer(call: AgentCall): Promise<CallToolResult | InputRequiredResult> {
    const { agent, input, request } = call
    const place = placeOf(request.requestState())
    const id = place?.thread ?? input.thread
    const { thread, info } = id === undefined ? await open(call) : await reach(id, call)
    const asked: Asked = { agent, thread: thread.id }
    const isDecided = place ? await decide(sdk, thread, request.inputResponses) : true

    async function waits(answered: Answered, place: Place) {
      const { approvals } = await thread.state({ bytes: 0 })
      // One that dismissed the question is not asked again and again.
      if (call.canAsk && isDecided && approvals.length > 0) return askUser(sdk, asked, place, approvals)
      return waitingResult(asked, answered, approvals)
    }

    let seq = place?.seq
    if (seq === undefined && input.prompt !== undefined) {
      // Nothing that is said now is heard before that is decided.
      if ((await thread.state({ bytes: 0 })).approvals.length > 0)
        return waits({ ...foldAnswer().answered(), outcome: 'suspended' }, asked)
      seq = await thread.send(input.prompt)
    }
    const answered = await hear(thread, { call, info, seq })
    if (!answered) return goingAwayResult(asked)
    return answered.outcome === 'suspended'
      ? waits(answered, seq === undefined ? asked : { thread: thread.id, seq })
      : answerResult(asked, answered)
  }

  /** Follows to the end of the answer, and stops it if the caller cancels. Undefined if the server ends before. */
  async function hear(
    thread: Thread,
    { call, info, seq }: { call: AgentCall; info: ThreadInfo; seq: number | undefined },
  ): Promise<Answered | undefined> {
    const { signal } = call.request
    const fold = foldAnswer(seq)
    const progress = progressFor(call, heartbeatMs)
    let [begun, isOver] = [seq === undefined, false]
    try {
      progress?.say(`the agent '${call.agent}' is asked, in thread '${thread.id}'`)
      const entries = thread.follow({
        after: seq === undefined ? 0 : seq - 1,
        until: seq ?? 'idle',
        signal: AbortSignal.any([signal, closing]),
      })
      for await (const entry of entries) {
        const isOurs = fold.take(entry)
        begun ||= isOurs
        if (isOurs) isOver = entry.event.type === 'run-end'
        // What was there before has been told before, or is old news.
        if (isOurs && entry.seq > info.head) progress?.tell(entry.event)
      }
    } finally {
      progress?.end()
    }
    if (isOver) return fold.answered()
    if (signal.aborted && !closing.aborted) await stopOwn(thread, { begun, seq, reason: signal.reason })
    if (closing.aborted) return undefined
    // Stopped before it began; or the app is closed, which throws.
    await thread.info()
    return fold.answered()
  }

  return async (call: AgentCall): Promise<CallToolResult | InputRequiredResult> => {
    try {
      return await answer(call)
    } catch (thrown) {
      const { message } = publicError(thrown, (error, id) => onError(reportOf(error, id)))
      return errorResult(`The agent '${call.agent}' could not be asked: ${message}.`)
    }
  }
}

/** A run that answers somebody else goes on; what was said then stays queued behind it. */
async function stopOwn(
  thread: Thread,
  { begun, seq, reason }: { begun: boolean; seq: number | undefined; reason: unknown },
): Promise<void> {
  const { queued, run } = await thread.state({ bytes: 0 })
  const isOthers = run !== undefined && run.outcome === undefined && queued.some((one) => one.seq === seq)
  if (begun || !isOthers)
    await thread.stop(typeof reason === 'string' && reason ? reason : 'cancelled by the MCP client')
}

function progressFor({ request }: AgentCall, heartbeatMs: number): Progress | undefined {
  const progressToken = request._meta?.progressToken
  if (progressToken === undefined) return undefined
  return progressOf({
    heartbeatMs,
    send(progress, message) {
      const params = { progressToken, progress, message }
      // A client that has gone is noticed elsewhere.
      request.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  })
}
