import type { ApprovalRequestEvent, Entry, JsonObject, ToolResultPart } from 'millrace'
import { isObject, limitText, toJson } from 'millrace/internal'
import type { Change, InputView, RunView } from 'millrace/view'
import { applyEntry, createView } from 'millrace/view'
import type {
  Artifact,
  DataType,
  Message,
  Part,
  StreamResponse,
  Task,
  TaskState,
  TaskStatus,
} from '../a2a/wire.ts'
import { isFinal } from '../a2a/wire.ts'
import { describeCall } from '../mcp-server/results.ts'
import { partOf, partsOf, storedRequest } from './messages.ts'

export interface TaskRef {
  readonly id: string
  readonly contextId: string
  /** The number of the input that the task answers. */
  readonly input: number
}

/** A task, folded from the log of its thread. */
export interface TaskFold {
  /** Applies the next entry, from the input on. Returns what to send to clients that have the rest. */
  applyEntry(entry: Entry): readonly StreamResponse[]
  readonly status: TaskStatus
  /** The number of the last entry. */
  readonly seq: number
  task(options?: { readonly historyLength?: number | undefined }): Task
}

const answerId = 'answer'

/**
 * A task is the answer to one input: a run, with all runs that resume it. Its text is one artifact,
 * with a part for each round. Tool calls are messages of the agent, with a data part.
 */
export function taskFold({ id, contextId, input }: TaskRef): TaskFold {
  const view = createView({ keep: 'round' })
  const texts: string[] = []
  const history: Message[] = []
  let user: InputView | undefined
  let modes: readonly string[] = []
  let run: RunView | undefined
  let structured: Artifact | undefined
  let usage: JsonObject | undefined
  let status: TaskStatus = { state: 'TASK_STATE_SUBMITTED' }
  let [seq, at] = [input - 1, 0]
  let isSent = false

  function message(parts: readonly Part[]): Message {
    return { messageId: `${id}-${seq}`, role: 'ROLE_AGENT', taskId: id, contextId, parts }
  }

  function setState(state: TaskState, parts?: readonly Part[]): StreamResponse {
    status = {
      state,
      ...(parts && { message: message(parts) }),
      timestamp: new Date(at).toISOString(),
    }
    return { statusUpdate: { taskId: id, contextId, status, ...(usage && { metadata: { usage } }) } }
  }

  /** Reports something that does not change the state. */
  function report(parts: readonly Part[]): StreamResponse {
    const { state } = status
    const shown = { state, message: message(parts), timestamp: new Date(at).toISOString() }
    return { statusUpdate: { taskId: id, contextId, status: shown } }
  }

  function reportCall(type: DataType, data: JsonObject, output: readonly ToolResultPart[] = []) {
    const reported = report([{ data: { type, ...data } }, ...output.map(partOf)])
    if (type !== 'tool-progress' && reported.statusUpdate?.status.message)
      history.push(reported.statusUpdate.status.message)
    return reported
  }

  function sendArtifact(artifact: Artifact, append: boolean): StreamResponse {
    return { artifactUpdate: { taskId: id, contextId, artifact, append } }
  }

  function answer(parts: readonly Part[]): Artifact {
    return { artifactId: answerId, name: answerId, parts }
  }

  const answerParts = () => texts.filter(Boolean).map((text) => ({ text }))

  /** A run has read the input, or it never will. */
  function findRun({ entry: { event } }: Change): StreamResponse | undefined {
    if ((event.type === 'run-start' || event.type === 'round-start') && event.inputs?.includes(input)) {
      run = view.runs.at(-1)
      return setState('TASK_STATE_WORKING')
    }
    const isDropped = event.type === 'rewind' && user && !view.waiting.includes(user)
    return isDropped || (event.type === 'stop' && user?.held)
      ? setState('TASK_STATE_CANCELED', [{ text: 'This task was canceled before it started.' }])
      : undefined
  }

  function* fold(change: Change): Generator<StreamResponse> {
    const { round, text, entry, read = [] } = change
    const { event } = entry
    for (const { seq, message } of read)
      if (seq !== input)
        history.push({
          messageId: `${id}-${seq}`,
          role: 'ROLE_USER',
          contextId,
          taskId: id,
          parts: partsOf(message),
        })
    if (event.type === 'run-start' && status.state === 'TASK_STATE_INPUT_REQUIRED')
      yield setState('TASK_STATE_WORKING')
    if (round?.retracted) {
      // What was sent is replaced by what is left.
      if (texts.pop()) yield sendArtifact(answer(texts.some(Boolean) ? answerParts() : [{ text: '' }]), false)
    } else if (round && !round.end) texts.push('')
    if (text?.kind === 'text' && change.delta) {
      texts.push((texts.pop() ?? '') + change.delta)
      yield sendArtifact(answer([{ text: change.delta }]), isSent)
      isSent = true
    }
    const reported = foldCall(change)
    if (reported) yield reported
    if (event.type === 'approval' && status.state === 'TASK_STATE_INPUT_REQUIRED')
      yield openRequests().length > 0 ? ask() : setState('TASK_STATE_WORKING')
    if (event.type === 'run-end') yield* foldEnd()
  }

  /** A call, or a call of a sub-agent: `outer/inner`. */
  function foldCall(change: Change, prefix = ''): StreamResponse | undefined {
    const { call, state, inner, progress } = change
    if (!call) return undefined
    const { event } = change.entry
    const { name } = call
    const callId = prefix + call.callId
    if (inner) return foldCall(inner, `${callId}/`)
    if (progress !== undefined) return reportCall('tool-progress', { callId, name, data: progress })
    if (event.type === 'tool-result')
      return reportCall(
        'tool-result',
        { callId, name, status: event.status, isError: event.isError },
        event.shown ?? event.output,
      )
    if (event.type === 'provider-tool' && event.output !== undefined)
      return reportCall('tool-result', { callId, name, isError: event.isError === true }, [
        { type: 'json', value: event.output },
      ])
    if (event.type !== 'tool-start' || state !== 'running') return undefined
    return reportCall('tool-call', { callId, name, input: call.changedInput ?? call.input ?? {} })
  }

  function openRequests(): ApprovalRequestEvent[] {
    return (run?.calls ?? []).flatMap(({ approvals }) =>
      approvals.flatMap(({ request, decision }) => (decision ? [] : [request])),
    )
  }

  function ask(): StreamResponse {
    const requests = openRequests()
    const words = requests.map((request) => `- ${describeCall(request)}`).join('\n')
    const text = `This needs a decision before it continues:\n${words}\nSend a message with this taskId and a data part for each call: { "callId", "approved": true or false }, or { "callId", "output" } for the result of a call that you run. Text cannot approve.`
    return setState('TASK_STATE_INPUT_REQUIRED', [{ text }, ...requests.map(requestPart)])
  }

  function* foldEnd(): Generator<StreamResponse> {
    if (!run?.outcome) return
    const { outcome, error, limit } = run
    usage = toJson(run.usage) as JsonObject
    const because = error ? `: ${error.message}` : ''
    switch (outcome) {
      case 'suspended':
        yield openRequests().length > 0 ? ask() : setState('TASK_STATE_WORKING')
        return
      case 'completed':
        structured = structuredAnswer()
        if (structured) yield sendArtifact(structured, false)
        yield setState('TASK_STATE_COMPLETED')
        return
      case 'canceled':
        yield setState('TASK_STATE_CANCELED', [{ text: `This task was canceled${because}` }])
        return
      case 'failed':
        yield setState('TASK_STATE_FAILED', [{ text: `The agent failed${because}` }])
        return
      case 'budget':
        yield setState('TASK_STATE_FAILED', [{ text: limit ? limitText(limit) : 'A budget is spent.' }])
        return
      case 'max-rounds':
        yield setState('TASK_STATE_FAILED', [
          { text: 'The agent used all its rounds before it had an answer.' },
        ])
        return
      case 'truncated':
        yield setState('TASK_STATE_FAILED', [{ text: "The answer was cut off at the model's output limit." }])
    }
  }

  /** For clients that asked for JSON: the answer as data, if that is what it is. */
  function structuredAnswer(): Artifact | undefined {
    const last = texts.at(-1)
    if (!last || !modes.includes('application/json')) return undefined
    try {
      const data = JSON.parse(last)
      return { artifactId: 'data', name: 'data', parts: [{ data, mediaType: 'application/json' }] }
    } catch {
      return undefined
    }
  }

  return {
    applyEntry(entry) {
      if (isFinal(status.state)) return []
      const change = applyEntry(view, entry)
      const { event } = entry
      ;({ seq, at } = entry)
      if (seq <= input) {
        if (seq === input && event.type === 'input') {
          const { messageId, outputModes = [] } = storedRequest(event.request?.metadata)
          user = change.input
          modes = outputModes
          status = { ...status, timestamp: new Date(at).toISOString() }
          history.push({
            messageId: messageId ?? `${id}-${seq}`,
            role: 'ROLE_USER',
            contextId,
            taskId: id,
            parts: partsOf(event.message),
          })
        }
        return []
      }
      const found = run ? undefined : findRun(change)
      const updates = run && view.runs.at(-1) === run ? [...fold(change)] : []
      return found ? [found, ...updates] : updates
    },
    get status() {
      return status
    },
    get seq() {
      return seq
    },
    task({ historyLength } = {}) {
      const parts = answerParts()
      const artifacts = [...(parts.length > 0 ? [answer(parts)] : []), ...(structured ? [structured] : [])]
      // A client that gets the task has this text.
      isSent ||= parts.length > 0
      return {
        id,
        contextId,
        status,
        ...(artifacts.length > 0 && { artifacts }),
        ...(historyLength !== 0 && {
          history: historyLength === undefined ? [...history] : history.slice(-historyLength),
        }),
        ...(usage && { metadata: { usage } }),
      }
    },
  }
}

function requestPart({ callId, name, input, wants, reason, remember, budget }: ApprovalRequestEvent): Part {
  const type: DataType = wants ? 'result-request' : 'approval-request'
  return {
    data: {
      type,
      callId,
      name,
      input: isObject(input) ? (toJson(input) as JsonObject) : {},
      ...(reason !== undefined && { reason }),
      ...(remember && { remember: [...remember.for] }),
      ...(budget && { budget: toJson(budget) }),
    },
  }
}
