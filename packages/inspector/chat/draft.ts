import type { UserMessage } from 'millrace/view'
import { textOf } from 'millrace/view'

export type UserPart = Exclude<UserMessage['content'], string>[number]
/** What goes with the words of a message: images, and whatever a message that is said again had. */
export type Attachment = Exclude<UserPart, { readonly type: 'text' }>

/** What somebody is about to say. */
export interface Draft {
  readonly text: string
  readonly attachments: readonly Attachment[]
}

export const emptyDraft: Draft = { text: '', attachments: [] }

export function isEmpty({ text, attachments }: Draft): boolean {
  return text.trim() === '' && attachments.length === 0
}

/** Plain words are sent as such. */
export function messageOf({ text, attachments }: Draft): string | UserMessage {
  if (attachments.length === 0) return text
  const words: UserPart[] = text.trim() === '' ? [] : [{ type: 'text', text }]
  return { role: 'user', content: [...words, ...attachments] }
}

/** A message taken up again, to be changed and said anew. */
export function draftFrom(message: UserMessage): Draft {
  const { content } = message
  const attachments = typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text')
  return { text: textOf(message), attachments }
}

/** What it takes of a request: the server refuses bodies of more than 1 MiB. */
export function bytesOf(draft: Draft): number {
  return new Blob([JSON.stringify(messageOf(draft))]).size
}
