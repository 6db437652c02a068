import type { ToolResultPart } from 'millrace'
import { toolContent } from 'millrace'
import { isObject, toJson } from 'millrace/internal'
import { clean } from './remote-card.ts'
import type { Artifact, Message, Part, StreamResponse, Task, TaskStatus } from './wire.ts'
import { isFinal } from './wire.ts'

/** A task of a remote agent, as far as it is known here. */
export interface RemoteTask {
  readonly id: string | undefined
  readonly contextId: string | undefined
  readonly status: TaskStatus | undefined
  /** The agent has answered without a task. */
  readonly message: Message | undefined
  /** Whether the task has ended or waits for us. */
  readonly isSettled: boolean
  /** Returns text that was only added at the end, or undefined if `text()` has to be read again. */
  apply(response: StreamResponse): string | undefined
  text(): string
  /** The parts of its artifacts, for a model. */
  result(): unknown
}

const maxArtifacts = 1000
const waitsForUs = new Set<string | undefined>(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'])

export function remoteTask(): RemoteTask {
  const artifacts = new Map<string, Part[]>()
  let id: string | undefined
  let contextId: string | undefined
  let status: TaskStatus | undefined
  let message: Message | undefined

  function applyTask(task: Task) {
    id = String(task.id)
    contextId = task.contextId ? String(task.contextId) : undefined
    status = task.status
    // The first task of a stream may not have them, and what is known must not be lost.
    if (Array.isArray(task.artifacts)) {
      artifacts.clear()
      for (const artifact of task.artifacts) replace(artifact)
    }
  }

  function replace({ artifactId, parts }: Artifact) {
    if (artifacts.size < maxArtifacts) artifacts.set(String(artifactId), [...parts])
  }

  const texts = (parts: readonly Part[]) => parts.map(({ text }) => text ?? '').join('')

  return {
    get id() {
      return id
    },
    get contextId() {
      return contextId
    },
    get status() {
      return status
    },
    get message() {
      return message
    },
    get isSettled() {
      return (
        message !== undefined ||
        (status !== undefined && (isFinal(status.state) || waitsForUs.has(status.state)))
      )
    },
    apply({ task, message: direct, statusUpdate, artifactUpdate }) {
      if (isObject(task)) applyTask(task as unknown as Task)
      else if (isObject(direct)) {
        message = direct as unknown as Message
        contextId = message.contextId || contextId
      } else if (isObject(statusUpdate)) {
        status = (statusUpdate as { readonly status: TaskStatus }).status
        return ''
      } else if (isObject(artifactUpdate)) {
        const { artifact, append } = artifactUpdate as { artifact: Artifact; append?: boolean }
        const known = artifacts.get(String(artifact.artifactId))
        if (!append || !known) {
          replace(artifact)
          return known || artifacts.size > 1 ? undefined : texts(artifact.parts)
        }
        known.push(...artifact.parts)
        return [...artifacts.keys()].at(-1) === artifact.artifactId ? texts(artifact.parts) : undefined
      }
      return undefined
    },
    text: () => [...artifacts.values()].map(texts).filter(Boolean).join('\n\n'),
    result() {
      const found = [...artifacts.values()]
      const given = found.some((parts) => parts.length > 0)
        ? found
        : [message?.parts ?? status?.message?.parts ?? []]
      const parts = given.flatMap(joined)
      if (parts.every(({ type }) => type === 'text'))
        return parts.map((part) => ('text' in part ? part.text : '')).join('\n\n')
      return toolContent(parts)
    },
  }
}

/** What an agent says in the status of its task. */
export function statusText(status: TaskStatus | undefined): string {
  return clean((status?.message?.parts ?? []).map(({ text }) => text ?? '').join('\n')).trim()
}

/** The parts of one artifact. Texts that arrived one after the other are one text. */
function joined(parts: readonly Part[]): ToolResultPart[] {
  const result: ToolResultPart[] = []
  for (const part of parts) {
    const made = toResultPart(part)
    const last = result.at(-1)
    if (last?.type === 'text' && made.type === 'text' && part.text !== undefined)
      result[result.length - 1] = { type: 'text', text: last.text + made.text }
    else if (made.type !== 'text' || made.text) result.push(made)
  }
  return result
}

const visible = /^image\/(png|jpeg|gif|webp)$/i

function toResultPart({ text, data, raw, url, mediaType = '', filename = 'file' }: Part): ToolResultPart {
  if (typeof text === 'string') return { type: 'text', text: clean(text) }
  if (data !== undefined) return { type: 'json', value: toJson(data) }
  if (typeof raw === 'string' && visible.test(mediaType)) return { type: 'image', data: raw, mediaType }
  if (typeof raw === 'string') return { type: 'text', text: `[${filename}, ${mediaType}: not shown]` }
  return { type: 'text', text: `[link: ${clean(String(url))} (${filename}, ${mediaType})]` }
}
