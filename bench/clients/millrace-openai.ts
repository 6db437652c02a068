import type { Client } from '../contract.ts'

/** What `millrace/openai` takes by itself. */
const client: Client = {
  label: 'Millrace, a provider alone',
  packages: [],
  wires: ['chat'],
  only: ['import'],
  imports: `export { openai } from 'millrace/openai'`,
  open() {
    throw new Error('it is there to be imported')
  },
}

export default client
