/** Where the conversation stands that a request was sent for. */
export interface Turn {
  readonly thread: string
  /** What it is about: `talk`, `watch` or `greet`. */
  readonly topic: string
  /** How many messages the user has sent. */
  readonly message: number
  /** How many times the model was asked since the last one. */
  readonly round: number
  /** Whether it asks for the usage. */
  readonly usage: boolean
}

/** What the user says: whose thread it is, and what about. */
export const messageFor = (thread: string, topic: 'talk' | 'watch' | 'greet') => `${thread} ${topic}`

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly stream_options?: { readonly include_usage?: boolean }
}

/** Reads the body of a request of Chat Completions. */
export function readTurn(body: string): Turn {
  const { messages, stream_options: options }: Body = JSON.parse(body)
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const [thread = '', topic = ''] = textOf(messages[last]?.content).split(' ')
  return {
    thread,
    topic,
    message: messages.filter(({ role }) => role === 'user').length,
    round: messages.slice(last).filter(({ role }) => role === 'assistant').length,
    usage: options?.include_usage === true,
  }
}

/** A message is text, or parts of which one is. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts: readonly { readonly text?: string }[] = Array.isArray(content) ? content : []
  return parts.map(({ text = '' }) => text).join('')
}
