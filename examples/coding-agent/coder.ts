import { agent, type Model } from 'millrace'
import { rulesFor, toolsFor } from './tools.ts'

/** An agent that works in one folder. `tools` are its tools, to close them. */
export function coderFor(workspace: string, model: Model) {
  const tools = toolsFor(workspace)
  const coder = agent({
    name: 'coder',
    description: 'Reads, changes and tests the code of one folder',
    model,
    system: `You are a careful programmer who works in one folder. Look before you change anything, change as little as
possible, run the tests afterwards, and end with a short report of what was wrong and what you did.`,
    tools,
    permission: rulesFor(workspace),
    maxRounds: 50,
  })
  return { coder, tools }
}
