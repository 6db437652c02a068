import type { JsonObject } from 'millrace'
import { encryptedOf, redactedOf, signatureOf } from './seal.ts'
import type { HandedOut } from './wire.ts'

/** What a simulator has handed out and wants to see again as it was. */
export interface Ledger {
  add(things: readonly HandedOut[]): void
  /** Whether this signature was given for this thinking. */
  signed(text: string, signature: string): boolean
  redacted(data: string): boolean
  encrypted(item: { readonly id?: string; readonly text: string; readonly encrypted: string }): boolean
  /** The output item of this id. */
  item(id: string): JsonObject | undefined
  /** Whether a reasoning item of this id was told. */
  reasoning(id: string): boolean
  /** The call was written after reasoning: the item's id, or `''` on a wire that gives it none. */
  reasonBefore(callId: string): string | undefined
}

export function ledger(): Ledger {
  const signatures = new Map<string, string>()
  const redactions = new Set<string>()
  const encryptions = new Set<string>()
  const reasonings = new Set<string>()
  const items = new Map<string, JsonObject>()
  const reasonedCalls = new Map<string, string>()
  return {
    add(things) {
      for (const thing of things) {
        if (thing.type === 'thinking') signatures.set(thing.signature, thing.text)
        else if (thing.type === 'redacted') redactions.add(thing.data)
        else if (thing.type === 'item') items.set(String(thing.item.id), thing.item)
        else if (thing.type === 'reasoned-call') reasonedCalls.set(thing.id, thing.reasoningId ?? '')
        else {
          reasonings.add(thing.id)
          if (thing.encrypted !== undefined) encryptions.add(thing.encrypted)
        }
      }
    },
    // A seal of its own kind is known without being in the book: it may come from a simulator that is long closed.
    signed: (text, signature) =>
      signatures.get(signature) === text || (!signatures.has(signature) && signature === signatureOf(text)),
    redacted: (data) => redactions.has(data) || data === redactedOf(''),
    encrypted: ({ id = '', text, encrypted }) =>
      encryptions.has(encrypted) || encrypted === encryptedOf(id, text),
    item: (id) => items.get(id),
    reasoning: (id) => reasonings.has(id),
    reasonBefore: (callId) => reasonedCalls.get(callId),
  }
}
