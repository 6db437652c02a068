import { setTimeout as wait } from 'node:timers/promises'
import * as z from 'zod'
import type { BenchTool } from '../contract.ts'
import type { ToolSchema } from '../server/tool-schemas.ts'

type Input = Readonly<Record<string, unknown>>

const schemas: Readonly<Record<string, z.ZodObject>> = {
  look_up_order: z.object({ id: z.string().describe('The id of the order') }),
  get_weather: z.object({
    city: z.string().describe('The name of the city'),
    days: z.int().describe('How many days to look ahead'),
  }),
  convert_price: z.object({
    amount: z.number().describe('How much'),
    from: z.string().describe('The currency it is in'),
    to: z.string().describe('The currency it is wanted in'),
  }),
  write_file: z.object({
    path: z.string().describe('Where to'),
    content: z.string().describe('What is to stand in it'),
  }),
  slow_search: z.object({ query: z.string().describe('What to look for') }),
}

const results: Readonly<Record<string, (input: Input) => string>> = {
  look_up_order: ({ id }) => `${id} has shipped`,
  get_weather: ({ city }) => `sunny in ${city}, 21 degrees`,
  convert_price: ({ amount, to }) => `${Number(amount) * 2} ${to}`,
  write_file: ({ path }) => `wrote ${path}`,
  slow_search: ({ query }) => `nothing was found of ${query}`,
}

/** The tools as clients are given them. `ran` is told of each run; `slowMs` is how long the slow one takes at the moment. */
export function benchTools(
  of: readonly ToolSchema[],
  ran: (name: string, input: Input) => void,
  slowMs: () => number,
): BenchTool[] {
  return of.map(({ name, description, jsonSchema }) => {
    const schema = schemas[name]
    const result = results[name]
    if (!schema || !result) throw new Error(`there is no tool ${name}`)
    async function search(input: Input) {
      ran(name, input)
      if (slowMs() > 0) await wait(slowMs())
      return result?.(input) ?? ''
    }
    function run(input: Input) {
      ran(name, input)
      return result?.(input) ?? ''
    }
    return { name, description, schema, jsonSchema, run: name === 'slow_search' ? search : run }
  })
}
