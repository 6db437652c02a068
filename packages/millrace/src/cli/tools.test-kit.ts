import { built } from './cli.test-kit.ts'

/** The same with rules, which ask about writing and keep what is allowed for good. */
export const ruledFile = `
  import { appendFileSync } from 'node:fs'
  import { tool } from ${JSON.stringify(built('index'))}
  import { permission as rules, permissionFile } from ${JSON.stringify(built('index', 'tools'))}
  export const permission = rules({ deny: ['write(secret)'], memory: permissionFile('rules.json') })
  export const refund = tool({
    name: 'refund',
    description: 'Pays back',
    input: { jsonSchema: { type: 'object', properties: { id: { type: 'string' } } } },
    access: ({ id }: { id: string }) => [{ kind: 'write', path: id }],
    run: ({ id }: { id: string }) => {
      appendFileSync('refunds.txt', id + '\\n')
      return { refunded: id }
    },
  })
`

/** A module with tools, as a user writes it: one that looks up, and one that a person has to allow. */
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
      description: 'Pays back',
      input,
      approve: ({ id }: { id: string }) => \`Refund \${id}?\`,
      run: ({ id }: { id: string }) => {
        appendFileSync('refunds.txt', id + '\\n')
        return { refunded: id }
      },
    }),
  ]
`
