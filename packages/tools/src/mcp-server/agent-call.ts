import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { Thread, ThreadInfo } from 'millrace'
import { isMillraceError } from 'millrace'
import { invalidInput, systemClock } from 'millrace/internal'
import type { Caller, ProtocolHost } from 'millrace/server'
import type { RunSummary } from 'millrace/view'
import { foldResult } from 'millrace/view'
import type { ResumePoint } from './approvals.ts'
import { askUser, decide, parseResumePoint } from './approvals.ts'
import { progressFor } from './progress.ts'
import type { ConversationRef } from './results.ts'
import { answerResult, errorResult, shuttingDownResult, waitingResult } from './results.ts'
import type { Sdk } from './sdk.ts'
import type { AgentTask } from './tasks.ts'
import { taskOf } from './tasks.ts'

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
  /**
   * When the call becomes a task: at once if the client wants it (2025-11-25), or after some time if the
   * client supports it (2026-07-28).
   */
  readonly taskAfterMs: number | undefined
}

export type CallAnswer = CallToolResult | InputRequiredResult | AgentTask

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

  async function answer(call: AgentCall): Promise<CallAnswer> {
    const { agent, input, request, taskAfterMs } = call
    const resumeAt = parseResumePoint(request.requestState())
    const id = resumeAt?.thread ?? input.thread
    const found = id === undefined ? await open(call) : await getThread(id, call)
    const { thread, info } = found
    // Its message waits behind what has to be approved first, and the task asks for that.
    if (taskAfterMs === 0 && !resumeAt)
      return taskOf(found, input.prompt === undefined ? 0 : await thread.send(input.prompt))
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
    // A task can wait for a person without the client.
    const isLong = summary === 'later' || (summary?.outcome === 'suspended' && taskAfterMs !== undefined)
    if (isLong) return taskOf(found, seq)
    if (!summary) return shuttingDownResult(conversation)
    return summary.outcome === 'suspended'
      ? needsApproval(summary, seq === undefined ? conversation : { thread: thread.id, seq })
      : answerResult(conversation, summary)
  }

  /**
   * Follows the run to its end, and stops it if the client cancels. `later` if it becomes a task, and
   * undefined if the server shuts down first.
   */
  async function followRun(
    thread: Thread,
    { call, info, seq }: { call: AgentCall; info: ThreadInfo; seq: number | undefined },
  ): Promise<RunSummary | 'later' | undefined> {
    const { signal } = call.request
    const later = new AbortController()
    const { taskAfterMs = Number.POSITIVE_INFINITY } = call
    const cancelTimer = Number.isFinite(taskAfterMs)
      ? systemClock.after(taskAfterMs, () => later.abort())
      : undefined
    const fold = foldResult(seq)
    const progress = progressFor(call.request, heartbeatMs)
    let [started, hasEnded] = [seq === undefined, false]
    try {
      progress?.report(`asking the agent '${call.agent}' in thread '${thread.id}'`)
      const entries = thread.follow({
        after: seq === undefined ? 0 : seq - 1,
        until: seq ?? 'idle',
        signal: AbortSignal.any([signal, closing, later.signal]),
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
      cancelTimer?.()
      progress?.end()
    }
    if (hasEnded) return fold.result()
    if (signal.aborted && !closing.aborted) await stopOwn(thread, { started, seq, reason: signal.reason })
    if (closing.aborted) return undefined
    if (later.signal.aborted && !signal.aborted) return 'later'
    // Stopped before the run started. If the app is closed, this throws.
    await thread.info()
    return fold.result()
  }

  return async (call: AgentCall): Promise<CallAnswer> => {
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
