import { invalidInput } from '../protocol/index.ts'
import { answerCall, findRequest } from './approve.ts'
import type { CommandLine } from './args.ts'
import { missingThreadId } from './open-threads.ts'
import type { Output } from './output.ts'

/** Gives the result of a tool call that a client runs, in its place, and shows the rest of the run. */
export async function respond({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id, ...rest] = words
  const result = rest.at(-1)
  if (id === undefined) throw missingThreadId('respond')
  if (result === undefined)
    throw invalidInput('millrace', `millrace respond needs a result: millrace respond ${id} RESULT`)
  const callId = rest.length > 1 ? rest[0] : undefined
  return answerCall(id, { flags, output }, async ({ thread }) => {
    const request = findRequest(await thread.state({ bytes: 0 }), callId, 'a result')
    return thread.respond(request.callId, jsonOrText(result), { isError: flags.failed === true })
  })
}

/** Text that is valid JSON becomes its value. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
