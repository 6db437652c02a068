import type { Client } from '../contract.ts'

/** `millrace` alone. */
const client: Client = {
  label: 'Millrace, without a provider',
  packages: [],
  wires: ['chat'],
  only: ['import'],
  imports: `export { agent, tool } from 'millrace'`,
  open() {
    throw new Error('this client is only imported')
  },
}

export default client
