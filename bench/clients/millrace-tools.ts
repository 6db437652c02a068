import type { Client } from '../contract.ts'

/** `@millrace/tools` alone. */
const client: Client = {
  label: 'Millrace, tools',
  packages: [],
  wires: ['chat'],
  only: ['import'],
  imports: `export { files, permission, shell, webFetch } from '@millrace/tools'`,
  open() {
    throw new Error('this client is only imported')
  },
}

export default client
