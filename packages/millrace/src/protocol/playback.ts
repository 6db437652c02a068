import type { AssistantMessage, AssistantPart, Message, TextPart } from './messages.ts'

/**
 * Marks how much of an answer was played: the first `chars` characters of its text stay `text`, the
 * rest becomes `unplayed`. Tool calls, results and reasoning are kept: they happened.
 */
export function trimToPlayed(message: AssistantMessage, chars: number): AssistantMessage {
  let left = chars
  const content = message.content.map((part): AssistantPart => {
    if (part.type !== 'text') return part
    const whole = part.text + (part.unplayed ?? '')
    const played = whole.slice(0, left)
    left -= played.length
    if (played === part.text) return part
    // `opaque` is dropped: the provider's data would not match the shortened text.
    return { type: 'text', text: played, ...(played !== whole && { unplayed: whole.slice(played.length) }) }
  })
  return { ...message, content }
}

/**
 * A message as the model reads it, without text that was never played. Undefined if nothing is
 * left.
 */
export function asPlayed(message: Message): Message | undefined {
  if (message.role !== 'assistant' || !isTrimmed(message)) return message
  const parts = message.content.flatMap((part): AssistantPart[] =>
    part.type === 'text' ? playedPart(part) : [part],
  )
  const callsTools = parts.some(({ type }) => type === 'tool-call' || type === 'provider-tool')
  // Reasoning belongs to the text or calls after it; providers reject it alone or before changed
  // text.
  const content = callsTools ? parts : parts.filter(({ type }) => type !== 'reasoning')
  return content.length > 0 ? { ...message, content } : undefined
}

function isTrimmed({ content }: AssistantMessage): boolean {
  for (const part of content) if (part.type === 'text' && part.unplayed !== undefined) return true
  return false
}

function playedPart({ unplayed, ...part }: TextPart): TextPart[] {
  return part.text ? [part] : []
}
