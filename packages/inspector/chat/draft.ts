import type { UserMessage } from 'millrace/view'
import { textOf } from 'millrace/view'

export type UserPart = Exclude<UserMessage['content'], string>[number]
/** Any part of a message except text: images, and what an edited message had. */
export type Attachment = Exclude<UserPart, { readonly type: 'text' }>

/** A message that is not sent yet. */
export interface Draft {
  readonly text: string
  readonly attachments: readonly Attachment[]
}

export const emptyDraft: Draft = { text: '', attachments: [] }

export function isEmpty({ text, attachments }: Draft): boolean {
  return text.trim() === '' && attachments.length === 0
}

/** A draft without attachments is sent as a string. */
export function messageOf({ text, attachments }: Draft): string | UserMessage {
  if (attachments.length === 0) return text
  const words: UserPart[] = text.trim() === '' ? [] : [{ type: 'text', text }]
  return { role: 'user', content: [...words, ...attachments] }
}

/** Turns a sent message back into a draft, to edit it. */
export function draftFrom(message: UserMessage): Draft {
  const { content } = message
  const attachments = typeof content === 'string' ? [] : content.filter((part) => part.type !== 'text')
  return { text: textOf(message), attachments }
}

/** The size in a request: the server rejects bodies of more than 1 MiB. */
export function bytesOf(draft: Draft): number {
  return new Blob([JSON.stringify(messageOf(draft))]).size
}
