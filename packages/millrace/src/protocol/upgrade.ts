import type { RunEvent, ThreadEvent } from './events.ts'
import type { Exchange } from './exchange.ts'
import { isObject } from './json.ts'
import { PROTOCOL_VERSION } from './messages.ts'

// Reads what protocol version 1 wrote. Version 2 only renamed things: the field `heard` is
// `inputs`, the event `heard` is `playback`, `unheard` is `unplayed`, `declined` is `denied`,
// `cancelled` is `canceled`. Values of version 2 are returned unchanged, since a run that started
// in version 1 may have been continued in version 2.

type Fields = Readonly<Record<string, unknown>>

export function upgradeEvent<Event extends RunEvent | ThreadEvent>(event: Event): Event {
  return upgradeFields({ ...event }) as unknown as Event
}

function upgradeFields(event: Fields): Fields {
  switch (event.type) {
    case 'run-start': {
      const input = Array.isArray(event.input) ? event.input.map(upgradeMessage) : event.input
      return { ...renameKey(event, 'heard', 'inputs'), input, version: PROTOCOL_VERSION }
    }
    case 'round-start':
      return renameKey(event, 'heard', 'inputs')
    case 'heard':
      return { ...event, type: 'playback' }
    case 'tool-result':
      return { ...event, status: renamed(event.status) }
    case 'run-end':
      return { ...event, outcome: renamed(event.outcome) }
    case 'tool-progress':
      return isObject(event.event) ? { ...event, event: upgradeFields(event.event) } : event
    default:
      return event
  }
}

export function upgradeMessage(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message.content)) return message
  const upgradePart = (part: unknown) => (isObject(part) ? renameKey(part, 'unheard', 'unplayed') : part)
  return { ...message, content: message.content.map(upgradePart) }
}

/** In a recorded exchange the provider's response was called `answer`. */
export function upgradeExchange(exchange: Exchange): Exchange {
  const wire = exchange.wire?.map((one) =>
    renameKey(renameKey({ ...one }, 'answer', 'response'), 'answerHeaders', 'responseHeaders'),
  )
  return { ...exchange, wire: wire as unknown as Exchange['wire'] }
}

function renamed(value: unknown): unknown {
  if (value === 'declined') return 'denied'
  return value === 'cancelled' ? 'canceled' : value
}

function renameKey(value: Fields, from: string, to: string): Fields {
  if (!(from in value)) return value
  const { [from]: kept, ...rest } = value
  return { ...rest, [to]: kept }
}
