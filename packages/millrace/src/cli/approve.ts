import type { RememberFor, ThreadView } from '../protocol/index.ts'
import { invalidInput, isObject, MillraceError } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { asidesOn } from './asides.ts'
import type { Flags } from './flags.ts'
import { jsonLine } from './json-lines.ts'
import type { Output } from './output.ts'
import { showReply } from './reply.ts'
import { openTalk } from './talk.ts'
import { verboseLogs } from './verbose.ts'

const op = 'millrace'

/** Decides about a call that waits, and goes on with its run: here, or wherever the thread's agent is at home. */
export async function approve({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id, callId] = words
  if (id === undefined)
    throw invalidInput(op, 'millrace approve takes the id of a thread: millrace threads lists them')
  const input = flags.input === undefined ? undefined : readInput(flags.input)
  if (input && flags.deny !== undefined)
    throw invalidInput(op, '--deny and --input together make no sense: the call either runs or not')
  const remember = readRemember(flags)
  const asides = asidesOn(output)
  const talk = await openTalk({ ...flags, thread: id }, { telemetry: verboseLogs(flags, asides) })
  try {
    const view = await talk.thread.state({ bytes: 0 })
    const request = theRequest(view, callId)
    checkTool(
      request.callId,
      request.name,
      talk.here?.tools.map(({ name }) => name),
      flags,
    )
    const reason = flags.deny?.trim()
    const seq = await talk.thread.approve(request.callId, {
      approved: flags.deny === undefined,
      ...(reason && { reason }),
      ...(input && { input }),
      ...(remember && { remember }),
    })
    // Following ends where a run waits, so it begins behind the decision.
    if (flags.json)
      for (const entry of await talk.thread.read({ after: seq - 1, limit: 1 })) output.say(jsonLine(entry))
    return await showReply(talk, { flags, output, asides, after: seq })
  } finally {
    await talk.app.close({ graceMs: 0 })
  }
}

function theRequest({ id, approvals }: ThreadView, callId: string | undefined) {
  const open = approvals.map((request) => `${request.callId} (${request.name})`).join(', ')
  const request = callId === undefined ? approvals[0] : approvals.find((one) => one.callId === callId)
  if (request && (callId !== undefined || approvals.length === 1)) return request
  const problem =
    approvals.length === 0
      ? `no call of the thread '${id}' waits for a decision`
      : callId === undefined
        ? `several calls of the thread '${id}' wait for a decision, name one: ${open}`
        : `no call '${callId}' of the thread '${id}' waits for a decision; these do: ${open}`
  throw new MillraceError({
    op,
    code: approvals.length === 0 ? 'conflict' : 'invalid_input',
    message: problem,
  })
}

/** Without its tool the call would only be answered as unknown, and the decision be used up. */
function checkTool(callId: string, name: string, tools: readonly string[] | undefined, flags: Flags): void {
  if (!tools || callId.includes('/') || tools.includes(name)) return
  const hint = flags.tools === undefined ? 'pass --tools FILE as it was' : `${flags.tools} does not have it`
  throw invalidInput(op, `the call that waits is to '${name}', which is not among the tools here: ${hint}`)
}

function readRemember({ remember, deny }: Flags): RememberFor | undefined {
  if (remember === undefined) return undefined
  if (deny !== undefined)
    throw invalidInput(op, '--deny and --remember together make no sense: only what is allowed is remembered')
  if (remember === 'thread' || remember === 'always') return remember
  throw invalidInput(op, `--remember takes thread or always, not '${remember}'`)
}

function readInput(text: string): object {
  try {
    const input: unknown = JSON.parse(text)
    if (isObject(input)) return input
  } catch {}
  throw invalidInput(op, `--input takes a JSON object such as '{"id":"ORD-42"}'`)
}
