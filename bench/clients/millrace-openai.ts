import type { Client } from '../contract.ts'

/** `millrace/openai` alone. */
const client: Client = {
  label: 'Millrace, a provider alone',
  packages: [],
  wires: ['chat'],
  only: ['import'],
  imports: `export { openai } from 'millrace/openai'`,
  open() {
    throw new Error('this client is only imported')
  },
}

export default client
