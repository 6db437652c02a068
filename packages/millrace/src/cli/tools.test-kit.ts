import { built } from './cli.test-kit.ts'

/** A tools file with permission rules, which ask before writing and remember approvals. */
export const ruledFile = `
  import { appendFileSync } from 'node:fs'
  import { tool } from ${JSON.stringify(built('index'))}
  import { permission as rules, permissionFile } from ${JSON.stringify(built('index', 'tools'))}
  export const permission = rules({ deny: ['write(secret)'], memory: permissionFile('rules.json') })
  export const refund = tool({
    name: 'refund',
    description: 'Refunds an order',
    input: { jsonSchema: { type: 'object', properties: { id: { type: 'string' } } } },
    access: ({ id }: { id: string }) => [{ kind: 'write', path: id }],
    run: ({ id }: { id: string }) => {
      appendFileSync('refunds.txt', id + '\\n')
      return { refunded: id }
    },
  })
`

/** A tools file with a tool that a client runs. */
export const clientToolFile = `
  import { tool } from ${JSON.stringify(built('index'))}
  const input = { jsonSchema: { type: 'object', properties: { of: { type: 'string' } } } }
  export const pick = tool({ name: 'pick', description: 'Lets the user pick a color', input })
`

/** A tools file with two tools, one of which needs approval. */
export const toolsFile = `
  import { appendFileSync } from 'node:fs'
  import { tool } from ${JSON.stringify(built('index'))}
  const input = { jsonSchema: { type: 'object', properties: { id: { type: 'string' } } } }
  export default [
    tool({
      name: 'look_up',
      description: 'Looks something up',
      input,
      run: ({ id }: { id: string }) => ({ id, status: 'shipped' }),
    }),
    tool({
      name: 'refund',
      description: 'Refunds an order',
      input,
      approve: ({ id }: { id: string }) => \`Refund \${id}?\`,
      run: ({ id }: { id: string }) => {
        appendFileSync('refunds.txt', id + '\\n')
        return { refunded: id }
      },
    }),
  ]
`
