import type { ModelEvent } from './events.ts'
import type { AssistantMessage, AssistantPart, ToolCallPart } from './messages.ts'

/**
 * Folds model events into the assistant's message: the only place that does so, for streams, for
 * answers that arrive in one piece and for stored logs. Events that are not part of the message are
 * ignored.
 */
export interface AssistantDraft {
  push(event: { readonly type: string } | ModelEvent): void
  /** The text so far. */
  readonly text: string
  /**
   * The message so far; undefined if it is empty. Can be called at any time, also between pushes.
   */
  message(): AssistantMessage | undefined
}

type OpenPart = { type: 'text' | 'reasoning'; text: string }

/** `content` holds the parts to start with. */
export function assistantDraft(content: readonly AssistantPart[] = []): AssistantDraft {
  const parts: AssistantPart[] = [...content]
  let open: OpenPart | undefined
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

  function append(type: 'text' | 'reasoning', delta: string) {
    if (open?.type !== type) {
      close()
      open = { type, text: '' }
    }
    open.text += delta
    if (type === 'text') draft.text += delta
  }

  function close() {
    if (open) parts.push(open)
    open = undefined
  }

  const draft = {
    text,
    push(event: ModelEvent) {
      switch (event.type) {
        case 'text':
        case 'reasoning':
          return append(event.type, event.text)
        case 'part-end': {
          if (open && open.type !== event.part) close()
          const partText = open?.text ?? ''
          open = undefined
          // Redacted reasoning has no text but must still be sent back.
          if (partText || event.opaque)
            parts.push({ type: event.part, text: partText, ...(event.opaque && { opaque: event.opaque }) })
          return
        }
        case 'tool-call': {
          close()
          const { callId, name, input, raw, opaque } = event
          const call: ToolCallPart = {
            type: 'tool-call',
            callId,
            name,
            input,
            ...(raw !== undefined && { raw }),
            ...(opaque && { opaque }),
          }
          parts.push(call)
          return
        }
        case 'restart':
          parts.length = 0
          open = undefined
          draft.text = ''
          return
        case 'provider-tool': {
          const { opaque } = event
          // Without `opaque` there is nothing to send back: the event only reports progress.
          if (!opaque) return
          close()
          parts.push({ ...event, opaque })
        }
      }
    },
    message(): AssistantMessage | undefined {
      const content = open ? [...parts, { ...open }] : [...parts]
      return content.length > 0 ? { role: 'assistant', content } : undefined
    },
  }
  return draft as AssistantDraft
}

/** The assistant's message in a complete list of events. */
export function foldMessage(
  events: Iterable<{ readonly type: string } | ModelEvent>,
): AssistantMessage | undefined {
  const draft = assistantDraft()
  for (const event of events) draft.push(event)
  return draft.message()
}
