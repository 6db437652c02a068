import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { Thread, ThreadInfo } from 'millrace'
import { isMillraceError } from 'millrace'
import { invalidInput } from 'millrace/internal'
import type { Caller, ProtocolHost } from 'millrace/server'
import type { RunSummary } from 'millrace/view'
import { foldResult } from 'millrace/view'
import type { ResumePoint } from './approvals.ts'
import { askUser, decide, parseResumePoint } from './approvals.ts'
import type { Progress } from './progress.ts'
import { progressOf } from './progress.ts'
import type { ConversationRef } from './results.ts'
import { answerResult, errorResult, shuttingDownResult, waitingResult } from './results.ts'
import type { Sdk } from './sdk.ts'

export interface AgentCallInput {
  readonly prompt?: string
  readonly thread?: string
}

export interface AgentCall {
  readonly agent: string
  readonly input: AgentCallInput
  readonly caller: Caller
  /** Whether the client can ask its user (elicitation). */
  readonly canAsk: boolean
  readonly request: ServerContext['mcpReq']
}

export interface AgentCallsOptions extends Pick<ProtocolHost, 'heartbeatMs' | 'publicError'> {
  readonly sdk: Sdk
  /** Aborted when the server shuts down. */
  readonly closing: AbortSignal
}

const op = 'mcp.call'

/**
 * Handles calls of the agents' tools. Never rejects: errors become results for the client's model.
 */
export function agentCalls({ sdk, closing, heartbeatMs, publicError }: AgentCallsOptions) {
  /** An existing thread that this caller can see and that belongs to this tool's agent. */
  async function getThread(id: string, { agent, caller }: AgentCall) {
    const found = await caller.getThread(id).catch((error: unknown) => {
      if (isMillraceError(error) && error.code === 'not_found')
        throw invalidInput(op, `there is no thread '${id}': omit thread to start a new conversation`)
      throw error
    })
    if (found.info.agent !== agent)
      throw invalidInput(
        op,
        `the thread '${id}' belongs to the agent '${found.info.agent}': continue it with that agent's tool, or omit thread`,
      )
    return found
  }

  function open(call: AgentCall) {
    const { agent, caller, input } = call
    if (input.prompt === undefined)
      throw invalidInput(
        op,
        'a new conversation needs a prompt; pass thread to get the answer of an existing one',
      )
    return caller.createThread({ agent })
  }

  async function answer(call: AgentCall): Promise<CallToolResult | InputRequiredResult> {
    const { agent, input, request } = call
    const resumeAt = parseResumePoint(request.requestState())
    const id = resumeAt?.thread ?? input.thread
    const { thread, info } = id === undefined ? await open(call) : await getThread(id, call)
    const conversation: ConversationRef = { agent, thread: thread.id }
    const isDecided = resumeAt ? await decide(sdk, thread, request.inputResponses) : true

    async function needsApproval(summary: RunSummary, resumeAt: ResumePoint) {
      const { approvals } = await thread.state({ bytes: 0 })
      // If the user dismissed the question, do not ask again.
      if (call.canAsk && isDecided && approvals.length > 0)
        return askUser(sdk, conversation, resumeAt, approvals)
      return waitingResult(conversation, summary, approvals)
    }

    let seq = resumeAt?.seq
    if (seq === undefined && input.prompt !== undefined) {
      // A message sent now would not be processed before the pending approval.
      if ((await thread.state({ bytes: 0 })).approvals.length > 0)
        return needsApproval({ ...foldResult().result(), outcome: 'suspended' }, conversation)
      seq = await thread.send(input.prompt)
    }
    const summary = await followRun(thread, { call, info, seq })
    if (!summary) return shuttingDownResult(conversation)
    return summary.outcome === 'suspended'
      ? needsApproval(summary, seq === undefined ? conversation : { thread: thread.id, seq })
      : answerResult(conversation, summary)
  }

  /**
   * Follows the run to its end, and stops it if the client cancels. Undefined if the server shuts
   * down first.
   */
  async function followRun(
    thread: Thread,
    { call, info, seq }: { call: AgentCall; info: ThreadInfo; seq: number | undefined },
  ): Promise<RunSummary | undefined> {
    const { signal } = call.request
    const fold = foldResult(seq)
    const progress = progressFor(call, heartbeatMs)
    let [started, hasEnded] = [seq === undefined, false]
    try {
      progress?.report(`asking the agent '${call.agent}' in thread '${thread.id}'`)
      const entries = thread.follow({
        after: seq === undefined ? 0 : seq - 1,
        until: seq ?? 'idle',
        signal: AbortSignal.any([signal, closing]),
      })
      for await (const entry of entries) {
        const change = fold.applyEntry(entry)
        if (!change) continue
        started = true
        hasEnded = change.run?.outcome !== undefined
        // Older entries were reported before, or are no longer of interest.
        if (entry.seq > info.head) progress?.update(change)
      }
    } finally {
      progress?.end()
    }
    if (hasEnded) return fold.result()
    if (signal.aborted && !closing.aborted) await stopOwn(thread, { started, seq, reason: signal.reason })
    if (closing.aborted) return undefined
    // Stopped before the run started. If the app is closed, this throws.
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

/** Stops the run, unless it answers an earlier input: then our message stays queued behind it. */
async function stopOwn(
  thread: Thread,
  { started, seq, reason }: { started: boolean; seq: number | undefined; reason: unknown },
): Promise<void> {
  const { queued, run } = await thread.state({ bytes: 0 })
  const isOthers = run !== undefined && run.outcome === undefined && queued.some((one) => one.seq === seq)
  if (started || !isOthers)
    await thread.stop(typeof reason === 'string' && reason ? reason : 'canceled by the MCP client')
}

function progressFor({ request }: AgentCall, heartbeatMs: number): Progress | undefined {
  const progressToken = request._meta?.progressToken
  if (progressToken === undefined) return undefined
  return progressOf({
    heartbeatMs,
    send(progress, message) {
      const params = { progressToken, progress, message }
      // A disconnected client is detected elsewhere.
      request.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  })
}
