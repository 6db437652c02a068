import type { ModelEvent } from './events.ts'
import type { AssistantMessage, AssistantPart, ToolCallPart } from './messages.ts'

/**
 * Folds what a model said into the assistant's message: the one place where that is done, for streams, for answers that
 * came in one piece and for logs read back. Events that carry no part of the message are ignored.
 */
export interface AssistantDraft {
  push(event: { readonly type: string } | ModelEvent): void
  /** The words so far. */
  readonly text: string
  /** What was said so far; undefined if that is nothing. May be asked for at any moment, and more pushed afterwards. */
  message(): AssistantMessage | undefined
}

type OpenPart = { type: 'text' | 'reasoning'; text: string }

/** `content` is what was said before. */
export function assistantDraft(content: readonly AssistantPart[] = []): AssistantDraft {
  const parts: AssistantPart[] = [...content]
  let open: OpenPart | undefined
  let text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

  function say(type: 'text' | 'reasoning', delta: string) {
    if (open?.type !== type) {
      close()
      open = { type, text: '' }
    }
    open.text += delta
    if (type === 'text') text += delta
  }

  function close() {
    if (open) parts.push(open)
    open = undefined
  }

  return {
    push(event: ModelEvent) {
      switch (event.type) {
        case 'text':
        case 'reasoning':
          return say(event.type, event.text)
        case 'part-end': {
          if (open && open.type !== event.part) close()
          const said = open?.text ?? ''
          open = undefined
          // Redacted reasoning has no words at all and must go back all the same.
          if (said || event.opaque)
            parts.push({ type: event.part, text: said, ...(event.opaque && { opaque: event.opaque }) })
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
          text = ''
          return
        case 'provider-tool': {
          const { opaque } = event
          // Without it there is nothing to give back: only a sign of life for those who watch.
          if (!opaque) return
          close()
          parts.push({ ...event, opaque })
        }
      }
    },
    get text() {
      return text
    },
    message() {
      const content = open ? [...parts, { ...open }] : [...parts]
      return content.length > 0 ? { role: 'assistant', content } : undefined
    },
  }
}

/** The assistant's message in a whole list of events. */
export function foldMessage(
  events: Iterable<{ readonly type: string } | ModelEvent>,
): AssistantMessage | undefined {
  const draft = assistantDraft()
  for (const event of events) draft.push(event)
  return draft.message()
}
