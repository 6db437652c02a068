import { createHash } from 'node:crypto'

// Real providers sign or encrypt reasoning and verify it when it comes back. So does the simulator,
// statelessly: a signature does not match another text.

const digest = (what: string, text: string) => createHash('sha256').update(`${what}:${text}`).digest('base64')

/** The signature of an Anthropic thinking block. */
export const signatureOf = (text: string) => `EtcBCkgISimAQ${digest('thinking', text)}`

/** The data of a redacted thinking block. */
export const redactedOf = (text: string) => `EvwBSimCoYC${digest('redacted', text)}`

/** The `encrypted_content` of a Responses reasoning item. */
export const encryptedOf = (id: string, text: string) =>
  `gAAAAABSim${digest('encrypted', `${id}:${text}`).replaceAll('+', '-').replaceAll('/', '_')}`
