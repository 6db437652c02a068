import type { SpendingOptions } from '../protocol/index.ts'
import type { Fields, Route } from '../protocols/index.ts'
import { json, patternField, ref, textField } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { maxShareOfCaller } from '../threads/index.ts'
import type { Admission } from './admission.ts'
import type { Limits } from './options.ts'
import type { Streams } from './streams.ts'

const key = '(day|agent|user|model|tool)'
const dayPattern = { pattern: '^\\d{4}-\\d\\d-\\d\\d$', expected: 'a day such as 2026-11-18' }

const spendingFields: Fields = {
  by: patternField({
    pattern: `^${key}(,${key})*$`,
    expected: 'one or more of day, agent, user, model and tool, separated by commas',
    description: 'What to group by, such as `user,day`. Without it, there is one row with the total.',
  }),
  from: patternField({ ...dayPattern, description: 'The first day, in UTC.' }),
  to: patternField({ ...dayPattern, description: 'The last day, in UTC.' }),
  agent: textField({ max: 256 }),
  user: textField({ max: 256, description: 'Only your own name, unless you may see what others spend.' }),
}

export interface UsageRoutesOptions {
  readonly limits: Limits
  readonly streams: Streams
  readonly admission: Admission
}

/** How much of its quotas and limits a caller uses, and what was spent. */
export function usageRoutes(app: App, { limits, streams, admission }: UsageRoutesOptions): Route[] {
  async function usageOf(caller: string) {
    return {
      ...(await app.usage(caller)),
      streams: { used: streams.count(caller), limit: limits.streams },
      requestsAtOnce: { used: admission.count(caller), limit: limits.requestsAtOnce },
      bufferBytes: { used: app.buffer.heldBy(caller), limit: app.buffer.limit * maxShareOfCaller },
    }
  }

  return [
    {
      method: 'GET',
      path: '/usage',
      name: 'getUsage',
      summary: 'Get how much of your quotas and limits you use',
      responses: { 200: json(ref('Usage'), 'Usage by option name. Empty if there are no limits') },
      async handle({ caller: { key } }) {
        return Response.json({ usage: key === undefined ? {} : await usageOf(key) })
      },
    },
    {
      method: 'GET',
      path: '/spending',
      name: 'getSpending',
      summary: 'Get what your threads have cost, or all threads if you may see and inspect them',
      query: spendingFields,
      responses: { 200: json(ref('Spending'), 'One row for each combination of what it is grouped by') },
      async handle({ caller, query }) {
        const { by, ...rest } = query as { readonly by?: string }
        const options = { ...rest, ...(by !== undefined && { by: by.split(',') }) } as SpendingOptions
        return Response.json({ spending: await caller.spending(options) })
      },
    },
  ]
}
