import type { InputView, LogView, Row, RunView, Versions } from 'millrace/view'
import { textOf } from 'millrace/view'
import type { Answer, AnswerPart, MessageVersions, SentMessage, ThreadMessage } from './messages.ts'
import { partSnapshots } from './parts.ts'
import { reuse } from './reuse.ts'

/** The messages of a view. What has not changed since the last `read()` is the same object. */
export interface MessageList {
  read(): readonly ThreadMessage[]
  /** Call after rows of finished runs have changed. */
  reset(): void
}

/** `keyOf` returns the key of an input, which may have been shown before it was in the log. */
export function messageList(view: LogView, keyOf = ({ key }: InputView) => key): MessageList {
  const parts = partSnapshots((inner) => messageList(inner))
  const versions = new WeakMap<Versions, MessageVersions>()
  const known = new Map<string, ThreadMessage>()
  /** The messages of finished runs, so that the cost of an update does not grow with the thread. */
  let finished: ThreadMessage[] = []
  let finishedRows = 0

  const keep = <Message extends ThreadMessage>(message: Message): Message => {
    const kept = reuse(known.get(message.key), message) as Message
    known.set(kept.key, kept)
    return kept
  }

  /** Versions belong to the message that follows the row before them. */
  function versionsAfter(row: Row | undefined): { versions?: MessageVersions } {
    const found = view.versions.get(row?.key ?? '')
    if (!found) return {}
    const { list, current } = found
    const rewinds = list.map(({ replacedBy }) => replacedBy)
    const made = versions.get(found) ?? { current, count: list.length, rewinds }
    versions.set(found, made)
    return { versions: made }
  }

  function sent(input: InputView, place: { versions?: MessageVersions }): SentMessage {
    const { seq, message, mode, run, held } = input
    return keep({
      role: 'user',
      key: keyOf(input),
      seq,
      text: textOf(message),
      content: message.content,
      // The view shows corrections as notices.
      mode: mode as SentMessage['mode'],
      status: run ? 'read' : held ? 'held' : 'queued',
      ...place,
    })
  }

  function answer(rows: readonly Row[], before: Row | undefined, isLast: boolean): Answer {
    const key = `${before?.key ?? ''}-answer`
    const run = runOf(rows)
    const isOver = rows.at(-1)?.kind === 'end'
    const previous = known.get(key) as Answer | undefined
    const next: readonly AnswerPart[] = rows.flatMap((row) => parts.read(row) ?? [])
    const { outcome, error, usage } = isOver || isLast ? (run ?? {}) : { outcome: 'completed' as const }
    return keep({
      role: 'assistant',
      key,
      seq: run?.seq ?? 0,
      agent: run?.agent ?? '',
      parts: reuse(previous?.parts, next),
      status: outcome === 'suspended' ? 'waiting' : (outcome ?? 'running'),
      ...(error && { error }),
      ...(usage && { usage }),
      ...versionsAfter(before),
    })
  }

  return {
    read() {
      const { rows, waiting } = view
      const messages = [...finished]
      let start = finishedRows
      const close = (end: number) => {
        if (start < end) messages.push(answer(rows.slice(start, end), rows[start - 1], end === rows.length))
        start = end
      }
      for (let index = start; index < rows.length; index++) {
        const row = rows[index] as Row
        if (row.kind === 'input') {
          close(index)
          messages.push(sent(row, versionsAfter(rows[index - 1])))
          start = index + 1
        } else if (row.kind === 'end') {
          close(index + 1)
          finished = [...messages]
          finishedRows = start
        }
      }
      close(rows.length)
      waiting.forEach((input, index) => {
        messages.push(sent(input, index === 0 ? versionsAfter(rows.at(-1)) : {}))
      })
      return messages
    },
    reset() {
      finished = []
      finishedRows = 0
    },
  }
}

function runOf(rows: readonly Row[]): RunView | undefined {
  for (const row of rows) {
    if (row.kind === 'end') return row.run
    if ('round' in row) return row.round.run
  }
  return undefined
}
