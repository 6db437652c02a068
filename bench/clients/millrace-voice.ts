import type { Client } from '../contract.ts'

/** `@millrace/voice` alone. */
const client: Client = {
  label: 'Millrace, voice',
  packages: [],
  wires: ['chat'],
  only: ['import'],
  imports: `export { flite, voice } from '@millrace/voice'`,
  open() {
    throw new Error('this client is only imported')
  },
}

export default client
