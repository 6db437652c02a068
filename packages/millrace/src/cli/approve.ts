import type { ApprovalRequestEvent, RememberFor, ThreadView } from '../protocol/index.ts'
import { invalidInput, isObject, MillraceError } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import type { Conversation } from './conversation.ts'
import { openConversation } from './conversation.ts'
import type { Flags } from './flags.ts'
import { jsonLine } from './json-lines.ts'
import { logLinesOn } from './log-lines.ts'
import { missingThreadId } from './open-threads.ts'
import type { Output } from './output.ts'
import { showAnswer } from './show-answer.ts'
import { verboseLogs } from './verbose.ts'

const op = 'millrace'

/**
 * Approves or denies a pending tool call and shows the rest of the run. The run continues in this
 * process, or on the server that runs the thread's agent.
 */
export async function approve({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id, callId] = words
  if (id === undefined) throw missingThreadId('approve')
  const input = flags.input === undefined ? undefined : readInput(flags.input)
  if (input && flags.deny !== undefined)
    throw invalidInput(op, '--deny and --input cannot be combined: a denied call does not run')
  const remember = readRemember(flags)
  return answerCall(id, { flags, output }, async ({ thread, local }) => {
    const view = await thread.state({ bytes: 0 })
    const request = findRequest(view, callId, flags.deny === undefined ? 'approval' : 'any answer')
    if (!request.budget)
      checkTool(
        request.callId,
        request.name,
        local?.tools.map(({ name }) => name),
        flags,
      )
    const reason = flags.deny?.trim()
    return thread.approve(request.callId, {
      approved: flags.deny === undefined,
      ...(reason && { reason }),
      ...(input && { input }),
      ...(remember && { remember }),
    })
  })
}

/** Opens a thread, answers one of its tool calls, and shows the rest of the run. */
export async function answerCall(
  id: string,
  { flags, output }: { readonly flags: Flags; readonly output: Output },
  answer: (conversation: Conversation) => Promise<number>,
): Promise<number> {
  const logLines = logLinesOn(output)
  const conversation = await openConversation(
    { ...flags, thread: id },
    { telemetry: verboseLogs(flags, logLines) },
  )
  try {
    const seq = await answer(conversation)
    // Following stops at a suspended run, so it starts after the answer.
    if (flags.json)
      for (const entry of await conversation.thread.read({ after: seq - 1, limit: 1 }))
        output.print(jsonLine(entry))
    return await showAnswer(conversation, { flags, output, logLines, after: seq })
  } finally {
    await conversation.app.close({ graceMs: 0 })
  }
}

/** The pending call with this id, or the only one. Throws if it waits for something else. */
export function findRequest(
  { id, approvals }: Pick<ThreadView, 'id' | 'approvals'>,
  callId: string | undefined,
  what: 'approval' | 'a result' | 'any answer',
): ApprovalRequestEvent {
  const waitsFor = ({ wants }: ApprovalRequestEvent) => (wants ? 'a result' : 'approval')
  const fitting = approvals.filter((one) => what === 'any answer' || waitsFor(one) === what)
  const request = callId === undefined ? fitting[0] : fitting.find((one) => one.callId === callId)
  if (request && (callId !== undefined || fitting.length === 1)) return request
  const other = approvals.find((one) => !fitting.includes(one) && (callId ?? one.callId) === one.callId)
  const open = fitting.map((one) => `${one.callId} (${one.name})`).join(', ')
  const problem = other
    ? `tool call '${other.callId}' (${other.name}) in thread '${id}' is waiting for ${waitsFor(other)}; use millrace ${other.wants ? 'respond' : 'approve'}`
    : fitting.length === 0
      ? `no tool call in thread '${id}' is waiting for ${what}`
      : callId === undefined
        ? `several tool calls in thread '${id}' are waiting for ${what}; name one: ${open}`
        : `tool call '${callId}' in thread '${id}' is not waiting for ${what}; these are: ${open}`
  const code = fitting.length === 0 && !other ? 'conflict' : 'invalid_input'
  throw new MillraceError({ op, code, message: problem })
}

/** Without its tool the call would fail as unknown, and the decision cannot be made twice. */
export function checkTool(
  callId: string,
  name: string,
  tools: readonly string[] | undefined,
  flags: Flags,
): void {
  if (!tools || callId.includes('/') || tools.includes(name)) return
  const hint =
    flags.tools === undefined ? 'pass the same --tools FILE as before' : `${flags.tools} does not export it`
  throw invalidInput(op, `the pending call uses the tool '${name}', which is not loaded: ${hint}`)
}

function readRemember({ remember, deny }: Flags): RememberFor | undefined {
  if (remember === undefined) return undefined
  if (deny !== undefined)
    throw invalidInput(op, '--deny and --remember cannot be combined: only approvals are remembered')
  if (remember === 'thread' || remember === 'always') return remember
  throw invalidInput(op, `--remember must be thread or always, not '${remember}'`)
}

function readInput(text: string): object {
  try {
    const input: unknown = JSON.parse(text)
    if (isObject(input)) return input
  } catch {}
  throw invalidInput(op, `--input must be a JSON object such as '{"id":"ORD-42"}'`)
}
