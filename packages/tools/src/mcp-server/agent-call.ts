import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { Thread, ThreadInfo } from 'millrace'
import { isMillraceError } from 'millrace'
import { invalidInput } from 'millrace/internal'
import type { Caller, ProtocolHost } from 'millrace/server'
import type { RunSummary } from 'millrace/view'
import { foldResult } from 'millrace/view'
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
  readonly caller: Caller
  /** Whether the client can ask its user. */
  readonly canAsk: boolean
  readonly request: ServerContext['mcpReq']
}

export interface AgentCallsOptions extends Pick<ProtocolHost, 'heartbeatMs' | 'publicError'> {
  readonly sdk: Sdk
  /** Aborted when the server goes away. */
  readonly closing: AbortSignal
}

const op = 'mcp.call'

/** Answers calls of the agents' tools. Never rejects: what goes wrong is a sentence for the caller's model. */
export function agentCalls({ sdk, closing, heartbeatMs, publicError }: AgentCallsOptions) {
  /** A conversation that is there, as far as this caller and this tool are concerned. */
  async function getThread(id: string, { agent, caller }: AgentCall) {
    const found = await caller.getThread(id).catch((error: unknown) => {
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

  function open(call: AgentCall) {
    const { agent, caller, input } = call
    if (input.prompt === undefined)
      throw invalidInput(
        op,
        'a new conversation needs a prompt; without one, say which thread you want to hear of',
      )
    return caller.createThread({ agent })
  }

  async function answer(call: AgentCall): Promise<CallToolResult | InputRequiredResult> {
    const { agent, input, request } = call
    const place = placeOf(request.requestState())
    const id = place?.thread ?? input.thread
    const { thread, info } = id === undefined ? await open(call) : await getThread(id, call)
    const asked: Asked = { agent, thread: thread.id }
    const isDecided = place ? await decide(sdk, thread, request.inputResponses) : true

    async function waits(answered: RunSummary, place: Place) {
      const { approvals } = await thread.state({ bytes: 0 })
      // One that dismissed the question is not asked again and again.
      if (call.canAsk && isDecided && approvals.length > 0) return askUser(sdk, asked, place, approvals)
      return waitingResult(asked, answered, approvals)
    }

    let seq = place?.seq
    if (seq === undefined && input.prompt !== undefined) {
      // Nothing that is said now is heard before that is decided.
      if ((await thread.state({ bytes: 0 })).approvals.length > 0)
        return waits({ ...foldResult().result(), outcome: 'suspended' }, asked)
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
  ): Promise<RunSummary | undefined> {
    const { signal } = call.request
    const fold = foldResult(seq)
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
        const change = fold.take(entry)
        if (!change) continue
        begun = true
        isOver = change.run?.outcome !== undefined
        // What was there before has been told before, or is old news.
        if (entry.seq > info.head) progress?.tell(change)
      }
    } finally {
      progress?.end()
    }
    if (isOver) return fold.result()
    if (signal.aborted && !closing.aborted) await stopOwn(thread, { begun, seq, reason: signal.reason })
    if (closing.aborted) return undefined
    // Stopped before it began; or the app is closed, which throws.
    await thread.info()
    return fold.result()
  }

  return async (call: AgentCall): Promise<CallToolResult | InputRequiredResult> => {
    try {
      return await answer(call)
    } catch (thrown) {
      const { message } = publicError(thrown)
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
