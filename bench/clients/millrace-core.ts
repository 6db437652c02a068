import type { Client } from '../contract.ts'

/** What `millrace` takes by itself. */
const client: Client = {
  label: 'Millrace, without a provider',
  packages: [],
  wires: ['chat'],
  only: ['import'],
  imports: `export { agent, tool } from 'millrace'`,
  open() {
    throw new Error('it is there to be imported')
  },
}

export default client
