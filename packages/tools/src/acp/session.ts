import type {
  AgentContext,
  ClientCapabilities,
  McpServer,
  PromptResponse,
  SessionUpdate,
  StopReason,
} from '@agentclientprotocol/sdk'
import type { ApprovalRequestEvent, JsonObject, Outcome, Thread } from 'millrace'
import { isMillraceError, MillraceError } from 'millrace'
import { isObject, messageOf, systemClock } from 'millrace/internal'
import type { CallView, Change, RunView } from 'millrace/view'
import { applyEntry, createView, statusOf } from 'millrace/view'
import { setWorkspaceClient } from '../workspace-client.ts'
import type { SessionSettings } from './choices.ts'
import { availableCommands, runCommand } from './commands.ts'
import { editorWorkspace } from './editor.ts'
import { sessionServers } from './mcp-servers.ts'
import { answerOf, isPlainEdit, permissionQuestion } from './permissions.ts'
import { userContent } from './prompt.ts'
import { sessionUpdates, text } from './updates.ts'

export interface SessionOptions {
  readonly thread: Thread
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  readonly cwd: string
  readonly mcpServers: readonly McpServer[]
  /** Whether the client gets what happened before it joined. */
  readonly replay: boolean
  readonly settings: SessionSettings
  /** Aborted when the client disconnects. The MCP servers stay open: runs may still use them. */
  readonly disconnected: AbortSignal
  readonly onError: (error: unknown) => void
}

export type Session = Awaited<ReturnType<typeof openSession>>

/** A prompt whose answer is not complete. */
interface Prompt {
  readonly done: PromiseWithResolvers<PromptResponse>
  canceled: boolean
  /** The number of its input, and the run that has read it. */
  seq?: number
  run?: RunView | undefined
}

const stopReasons: { readonly [Name in Outcome]?: StopReason } = {
  ...{ completed: 'end_turn', truncated: 'max_tokens', canceled: 'cancelled' },
  ...{ 'max-rounds': 'max_turn_requests', budget: 'max_turn_requests' },
}

const refusals: readonly unknown[] = ['refusal', 'content-filter']

/** Shows a thread in an editor. Resolves when the client has been sent what happened before. */
export async function openSession(options: SessionOptions) {
  const { thread, client, capabilities, cwd, mcpServers, replay, onError } = options
  const sessionId = thread.id
  const { head, status } = await thread.info()
  const prompts = new Map<string, Prompt>()
  /** The questions that the editor was asked about the current run. */
  const questions = new Map<ApprovalRequestEvent, AbortController>()
  const closing = new AbortController()
  const joined = Promise.withResolvers<void>()
  /** Why the thread is no longer followed. */
  let lost: unknown
  // A replay needs the whole conversation.
  const view = createView({ keep: replay ? 'all' : 'round' })
  const notices = Boolean(capabilities.session?.notices)
  const updates = sessionUpdates({ notices })
  const settings = { ...options.settings }
  const servers = sessionServers(mcpServers, { cwd, onProblem: warn })

  const send = (update: SessionUpdate) => client.notify('session/update', { sessionId, update })

  /** Without waiting: a client that is gone is noticed elsewhere. */
  function sendSoon(update: SessionUpdate) {
    void systemClock
      .turn()
      .then(() => send(update))
      .catch(() => {})
  }

  function warn(title: string) {
    if (notices) sendSoon({ sessionUpdate: 'notice', severity: 'warning', title })
    else sendSoon(text(crypto.randomUUID(), `_${title}_\n\n`))
  }

  async function follow() {
    let isLive = head === 0
    if (isLive) joined.resolve()
    for await (const entry of thread.follow({ signal: closing.signal })) {
      const change = applyEntry(view, entry)
      updates.count(entry)
      if (isLive) {
        const own = ownPrompt(change)
        for (const update of updates.updatesOf(change, own !== undefined)) await send(update)
        await settle(change)
        if (change.call) askAll([change.call])
      } else if (entry.seq >= head) {
        // Greater if deltas were joined that were written before and after the head was read.
        isLive = true
        if (replay) for (const update of updates.replay(view)) await send(update)
        const last = view.runs.at(-1)
        const isOver = ['idle', 'waiting'].includes(statusOf(view))
        if (replay && last && isOver) await send(endOf(last))
        askAll(last?.calls ?? [])
        joined.resolve()
      }
    }
  }

  function ownPrompt({ entry: { event, seq } }: Change): Prompt | undefined {
    const token = event.type === 'input' && isObject(event.request?.metadata) && event.request.metadata.acp
    const own = typeof token === 'string' ? prompts.get(token) : undefined
    if (own) own.seq = seq
    return own
  }

  /** Ends the prompts whose answer is complete or will not come. */
  async function settle({ entry, read = [], run, rewound }: Change) {
    const waiting = [...prompts.values()].filter(({ seq }) => seq !== undefined)
    for (const { seq, run } of read) for (const one of waiting) if (one.seq === seq) one.run = run
    if (run?.outcome !== undefined) {
      if (run.outcome !== 'suspended') {
        for (const question of questions.values()) question.abort()
        questions.clear()
      }
      await send(endOf(run))
      if (run.outcome !== 'suspended') for (const one of waiting) if (one.run === run) end(one, run)
    }
    const isShown = (seq: number | undefined) => view.waiting.some((input) => input.seq === seq)
    if (entry.event.type === 'stop' || rewound)
      for (const one of waiting)
        if (!one.run && (!rewound || !isShown(one.seq))) one.done.resolve({ stopReason: 'cancelled' })
  }

  function end({ done }: Prompt, { outcome = 'failed', finish, error }: RunView) {
    const isRefusal = outcome === 'completed' && refusals.includes(finish)
    const stopReason = isRefusal ? 'refusal' : stopReasons[outcome]
    if (stopReason) done.resolve({ stopReason })
    else done.reject(error ? MillraceError.fromJSON(error) : new Error('the run failed'))
  }

  /** Clients that wait for no prompt have no other way to learn that a run has ended. */
  function endOf({ outcome, error, lastAt }: RunView): SessionUpdate {
    const run = { outcome, ...(error && { error: error.message }) }
    return {
      sessionUpdate: 'session_info_update',
      updatedAt: new Date(lastAt).toISOString(),
      _meta: { millrace: { run } },
    }
  }

  function askAll(calls: readonly CallView[]) {
    for (const call of calls)
      for (const { request, decision } of call.approvals)
        if (decision) questions.get(request)?.abort()
        else if (!questions.has(request)) void ask(call, request)
  }

  async function ask(call: CallView, request: ApprovalRequestEvent) {
    const { callId } = request
    const question = new AbortController()
    questions.set(request, question)
    try {
      if (request.wants) await refuseToRun(call, request)
      else if (settings.mode === 'accept-edits' && isPlainEdit(request))
        await thread.approve(callId, { approved: true })
      else await askUser(call, request, question.signal)
    } catch (error) {
      // Another client has decided, or this one is gone.
      const isDecided = isMillraceError(error) && error.code === 'conflict'
      if (!question.signal.aborted && !closing.signal.aborted && !isDecided)
        await thread
          .approve(callId, { approved: false, reason: `the editor could not ask: ${messageOf(error)}` })
          .catch(onError)
    }
  }

  async function askUser(call: CallView, request: ApprovalRequestEvent, signal: AbortSignal) {
    const { outcome } = await client.request(
      'session/request_permission',
      { sessionId, ...permissionQuestion(call, request) },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    )
    if (outcome.outcome === 'selected') await thread.approve(request.callId, answerOf(outcome.optionId))
    // The user dismissed the question, or canceled the prompt.
    else await thread.stop('canceled in the editor')
  }

  /** The protocol has no tools that a client runs. Another client may have them. */
  async function refuseToRun({ round }: CallView, { callId, name }: ApprovalRequestEvent) {
    if (![...prompts.values()].some(({ run }) => run === round.run)) return
    await thread.respond(callId, `The editor cannot run the tool '${name}'.`, { isError: true })
  }

  async function prompt(blocks: Parameters<typeof userContent>[0]): Promise<PromptResponse> {
    const answered = await runCommand(blocks, thread)
    if (answered !== undefined) {
      await send(text(crypto.randomUUID(), answered))
      return { stopReason: 'end_turn' }
    }
    const content = userContent(blocks)
    const token = crypto.randomUUID()
    const own: Prompt = { done: Promise.withResolvers(), canceled: false }
    if (lost) throw lost
    prompts.set(token, own)
    try {
      await servers.open()
      if (own.canceled) return { stopReason: 'cancelled' }
      const { status } = await thread.info()
      await thread.send(
        { role: 'user', content },
        {
          // A user who writes something else does not wait for a decision of their own.
          mode: status === 'waiting' ? 'interrupt' : status === 'idle' ? 'queue' : 'steer',
          request: {
            metadata: { acp: token },
            ...(settings.model !== undefined && { model: settings.model }),
            // Tools usually work in the folder of the process.
            ...(cwd !== process.cwd() && { system: `The editor of the user has opened the folder ${cwd}.` }),
          },
        },
      )
      if (own.canceled) await thread.stop('canceled in the editor')
      return await own.done.promise
    } finally {
      prompts.delete(token)
    }
  }

  /** Stops the run. All prompts then end as canceled. */
  async function cancel() {
    for (const one of prompts.values()) one.canceled = true
    await thread.stop('canceled in the editor')
  }

  async function configure(changed: Partial<SessionSettings>) {
    Object.assign(settings, changed)
    await thread.updateMetadata({ acp: changed as JsonObject })
  }

  function close() {
    closing.abort()
    setWorkspaceClient(sessionId, undefined)
    for (const one of prompts.values()) one.done.resolve({ stopReason: 'cancelled' })
  }

  options.disconnected.addEventListener('abort', close, { once: true, signal: closing.signal })
  setWorkspaceClient(sessionId, editorWorkspace(client, { sessionId, cwd, capabilities }))
  void follow()
    .then(() => Promise.reject(deleted()))
    .catch((error: unknown) => {
      lost = error
      joined.reject(error)
      for (const one of prompts.values()) one.done.reject(error)
      close()
    })
  await joined.promise
  // A run that is in progress may need them.
  if (status !== 'idle') void servers.open()
  sendSoon({ sessionUpdate: 'available_commands_update', availableCommands })
  return { thread, cwd, mcpServers, settings, servers, prompt, cancel, configure, send, close }
}

const deleted = () =>
  new MillraceError({ op: 'acp', code: 'not_found', message: 'the session was closed or deleted' })
