import type { MillraceError, RemoteThread, SendOptions } from 'millrace/client'
import type { InputView } from 'millrace/view'
import { textOf } from 'millrace/view'
import type { SentMessage } from './messages.ts'
import type { Sendable } from './thread-handle.ts'

/** A message that is not in the log yet. */
interface Draft {
  readonly message: Sendable
  readonly options: Pick<SendOptions, 'mode' | 'request'>
  /** The number of the message that it replaces. */
  readonly replaces?: number | undefined
  readonly key: string
  isReplaced?: boolean
  shown: SentMessage
}

interface OutboxOptions {
  open(): Promise<RemoteThread>
  /** Does a request again after a lost connection. */
  persist<Value>(work: () => Promise<Value>): Promise<Value>
  /** Rewinds a thread to before an entry. */
  rewind(before: number, key: string): Promise<void>
  onChange(): void
}

/** Sends messages one after the other, and shows them until they are in the log. */
export function outbox({ open, persist, rewind, onChange }: OutboxOptions) {
  let drafts: Draft[] = []
  let queue: Promise<unknown> = Promise.resolve()
  /** The keys of messages that are now in the log, by their numbers. */
  const keys = new Map<number, string>()

  function show(draft: Draft, change: Partial<SentMessage>) {
    const { error, ...shown } = draft.shown
    draft.shown = { ...shown, ...change }
    onChange()
  }

  function enter(draft: Draft, seq: number) {
    if (!drafts.includes(draft)) return
    keys.set(seq, draft.key)
    drafts = drafts.filter((one) => one !== draft)
  }

  async function deliver(draft: Draft): Promise<void> {
    if (!drafts.includes(draft)) return
    const { message, options, replaces, key } = draft
    try {
      const thread = await open()
      if (replaces !== undefined && !draft.isReplaced) await rewind(replaces, `${key}-rewind`)
      draft.isReplaced = true
      const seq = await persist(() => thread.send(message, { ...options, key }))
      // If its entry has arrived before, the draft is already gone.
      if (drafts.includes(draft)) show(draft, { seq })
    } catch (error) {
      show(draft, { status: 'failed', error: error as MillraceError })
    }
  }

  function enqueue(draft: Draft): Promise<void> {
    const delivery = queue.then(() => deliver(draft))
    queue = delivery
    return delivery
  }

  return {
    send(message: Sendable, options: Draft['options'], replaces?: number): Promise<void> {
      const key = randomKey()
      const content = contentOf(message)
      const shown: SentMessage = {
        role: 'user',
        key,
        text: textOf({ role: 'user', content }),
        content,
        mode: options.mode ?? 'queue',
        status: 'sending',
      }
      const draft = { message, options, replaces, key, shown }
      drafts.push(draft)
      onChange()
      return enqueue(draft)
    },

    /** Sends a failed message again. Under the same key, so that it cannot be stored twice. */
    retry(message: SentMessage): Promise<void> | undefined {
      const draft = drafts.find(({ key, shown }) => key === message.key && shown.status === 'failed')
      if (!draft) return undefined
      show(draft, { status: 'sending' })
      return enqueue(draft)
    },

    discard({ key }: SentMessage): void {
      drafts = drafts.filter((draft) => draft.key !== key)
      onChange()
    },

    /**
     * An input was read from the log. Its entry may arrive before the response that has its number:
     * then it is the message being sent if it has the same text.
     */
    onInput({ seq, message }: InputView): void {
      const [first] = drafts.filter(({ shown }) => shown.status === 'sending')
      if (first?.shown.seq === seq || first?.shown.text === textOf(message)) enter(first, seq)
    },

    /** What is not in a log that ends with this entry. */
    read(head: number): readonly SentMessage[] {
      for (const draft of drafts) {
        const { seq } = draft.shown
        if (seq !== undefined && seq <= head) enter(draft, seq)
      }
      return drafts.map(({ shown }) => shown)
    },

    keyOf: ({ seq, key }: InputView) => keys.get(seq) ?? key,
  }
}

/** As the log will have it: bytes become base64. */
function contentOf(message: Sendable): SentMessage['content'] {
  if (typeof message === 'string' || typeof message.content === 'string')
    return typeof message === 'string' ? message : (message.content as string)
  return message.content.map((part) =>
    'data' in part && part.data instanceof Uint8Array ? { ...part, data: base64(part.data) } : part,
  ) as SentMessage['content']
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** `crypto.randomUUID` is not available on pages without TLS. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-')
}
