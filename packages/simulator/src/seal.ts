import { createHash } from 'node:crypto'

// A real provider signs or encrypts what it thought, and knows its own seal again. So does this one, without keeping it:
// what comes back with another text than it was sealed for does not fit.

const digest = (what: string, text: string) => createHash('sha256').update(`${what}:${text}`).digest('base64')

/** The signature of an Anthropic thinking block. */
export const signatureOf = (text: string) => `EtcBCkgISimAQ${digest('thinking', text)}`

/** The data of a redacted thinking block. */
export const redactedOf = (text: string) => `EvwBSimCoYC${digest('redacted', text)}`

/** The `encrypted_content` of a Responses reasoning item. */
export const encryptedOf = (id: string, text: string) =>
  `gAAAAABSim${digest('encrypted', `${id}:${text}`).replaceAll('+', '-').replaceAll('/', '_')}`
