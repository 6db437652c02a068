import type { ToolSchema } from '../server/tool-schemas.ts'
import { lookUpOrder } from '../server/tool-schemas.ts'

/** A tool that tells a lot while it works: more than the buffers of a connection hold, which are 4 MB on Linux. */
export const watchBuild: ToolSchema = {
  name: 'watch_build',
  description: 'Shows what a build says',
  jsonSchema: lookUpOrder.jsonSchema,
}

const reports = 80
const reportChars = 64 * 1024

/** What it says, one report after the other. */
export function* buildOutput(): Generator<string> {
  for (let number = 1; number <= reports; number++) yield `step ${number} `.padEnd(reportChars, '.')
}
