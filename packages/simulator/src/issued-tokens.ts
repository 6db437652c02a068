import type { JsonObject } from 'millrace'
import { encryptedOf, redactedOf, signatureOf } from './signature.ts'
import type { IssuedToken } from './wire.ts'

/** The tokens that a simulator has issued and expects back unchanged. */
export interface IssuedTokens {
  add(tokens: readonly IssuedToken[]): void
  /** Whether this signature was issued for this thinking. */
  signed(text: string, signature: string): boolean
  redacted(data: string): boolean
  encrypted(item: { readonly id?: string; readonly text: string; readonly encrypted: string }): boolean
  /** The output item with this id. */
  item(id: string): JsonObject | undefined
  /** Whether a reasoning item with this id was issued. */
  reasoning(id: string): boolean
  /**
   * The id of the reasoning before this tool call, or `''` on a wire without such ids. Undefined if
   * there was none.
   */
  reasoningBefore(callId: string): string | undefined
}

export function issuedTokens(): IssuedTokens {
  const signatures = new Map<string, string>()
  const redactions = new Set<string>()
  const encryptions = new Set<string>()
  const reasonings = new Set<string>()
  const items = new Map<string, JsonObject>()
  const reasonedCalls = new Map<string, string>()
  return {
    add(things) {
      for (const token of things) {
        if (token.type === 'thinking') signatures.set(token.signature, token.text)
        else if (token.type === 'redacted') redactions.add(token.data)
        else if (token.type === 'item') items.set(String(token.item.id), token.item)
        else if (token.type === 'reasoned-call') reasonedCalls.set(token.id, token.reasoningId ?? '')
        else {
          reasonings.add(token.id)
          if (token.encrypted !== undefined) encryptions.add(token.encrypted)
        }
      }
    },
    // A valid signature is accepted even if it was issued by another simulator.
    signed: (text, signature) =>
      signatures.get(signature) === text || (!signatures.has(signature) && signature === signatureOf(text)),
    redacted: (data) => redactions.has(data) || data === redactedOf(''),
    encrypted: ({ id = '', text, encrypted }) =>
      encryptions.has(encrypted) || encrypted === encryptedOf(id, text),
    item: (id) => items.get(id),
    reasoning: (id) => reasonings.has(id),
    reasoningBefore: (callId) => reasonedCalls.get(callId),
  }
}
