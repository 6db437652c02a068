import type { AssistantMessage, AssistantPart, Message, TextPart } from './messages.ts'

/**
 * An answer as far as it was heard: the first `chars` characters of its words stay `text`, the others become `unheard`. Calls,
 * reasoning and what tools gave stay as they are: they happened.
 */
export function trimToHeard(message: AssistantMessage, chars: number): AssistantMessage {
  let left = chars
  const content = message.content.map((part): AssistantPart => {
    if (part.type !== 'text') return part
    const whole = part.text + (part.unheard ?? '')
    const heard = whole.slice(0, left)
    left -= heard.length
    if (heard === part.text) return part
    // A provider's own note on the words would not fit the rest of them.
    return { type: 'text', text: heard, ...(heard !== whole && { unheard: whole.slice(heard.length) }) }
  })
  return { ...message, content }
}

/** What a model is to read of a message: nothing that nobody has heard. Undefined if nothing is left. */
export function asHeard(message: Message): Message | undefined {
  if (message.role !== 'assistant' || !isTrimmed(message)) return message
  const said = message.content.flatMap((part): AssistantPart[] =>
    part.type === 'text' ? heardPart(part) : [part],
  )
  const acts = said.some(({ type }) => type === 'tool-call' || type === 'provider-tool')
  // Thoughts belong to the words or calls behind them; providers refuse them alone, or before words that are others.
  const content = acts ? said : said.filter(({ type }) => type !== 'reasoning')
  return content.length > 0 ? { ...message, content } : undefined
}

function isTrimmed({ content }: AssistantMessage): boolean {
  for (const part of content) if (part.type === 'text' && part.unheard !== undefined) return true
  return false
}

function heardPart({ unheard, ...part }: TextPart): TextPart[] {
  return part.text ? [part] : []
}
