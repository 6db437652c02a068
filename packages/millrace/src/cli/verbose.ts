import type { Telemetry } from '../protocol/index.ts'
import type { LogFields } from '../telemetry/index.ts'
import { logs } from '../telemetry/index.ts'
import type { Asides } from './asides.ts'
import { inWords } from './duration.ts'
import type { Flags } from './flags.ts'
import { cleanLine } from './terminal/index.ts'

/** What `--verbose` asks for: a line for people on each run that this process does, and on what goes wrong in it. */
export function verboseLogs(flags: Pick<Flags, 'verbose'>, asides: Pick<Asides, 'tell'>): Telemetry[] {
  if (!flags.verbose) return []
  const tell = (message: string, fields: LogFields = {}) => asides.tell(lineOf(message, fields))
  const { begin } = logs({ info: tell, warn: tell, error: tell }, { format: 'fields' })
  // Only runs: what fails in the background is told without being asked for.
  return [{ begin }]
}

function lineOf(message: string, fields: LogFields): string {
  const parts = [message, fields.agent, ...partsOf(message, fields)].filter((part) => part !== undefined)
  return cleanLine(parts.join(' · '))
}

function partsOf(message: string, fields: LogFields): (string | undefined)[] {
  const time = inWords(Number(fields.ms))
  switch (message) {
    case 'model call failed':
      return [
        `${fields.provider}/${fields.model}`,
        attemptWords(fields),
        codeWords(fields),
        time,
        retryWords(fields),
      ]
    case 'tool call failed':
      return [String(fields.tool), String(fields.status), time]
    default:
      return [
        countOf(fields.rounds, 'round'),
        callWords(fields),
        time,
        tokenWords(fields),
        lossWords(fields),
        codeWords(fields),
      ]
  }
}

function attemptWords({ aside, round, attempt }: LogFields): string {
  const asked = aside ? 'for a summary' : `round ${round}`
  return Number(attempt) > 1 ? `${asked}, try ${attempt}` : asked
}

function retryWords({ retryMs, retryModel }: LogFields): string | undefined {
  if (retryMs === undefined) return undefined
  const when = Number(retryMs) > 0 ? `again in ${inWords(Number(retryMs))}` : 'again at once'
  return retryModel === undefined ? when : `${when}, by ${retryModel}`
}

function codeWords({ code, httpStatus }: LogFields): string | undefined {
  return httpStatus === undefined ? code?.toString() : `${code} (${httpStatus})`
}

function callWords({ calls, failedCalls }: LogFields): string | undefined {
  if (calls === 0) return undefined
  return `${countOf(calls, 'call')}${failedCalls === undefined ? '' : `, ${failedCalls} failed`}`
}

function tokenWords({ inputTokens, outputTokens, cacheReadTokens }: LogFields): string | undefined {
  // Not every provider tells.
  if (inputTokens === 0 && outputTokens === 0) return undefined
  const cached = cacheReadTokens === undefined ? '' : ` (${cacheReadTokens} cached)`
  return `${inputTokens}${cached} → ${outputTokens} tokens`
}

function lossWords({ resumes, losses }: LogFields): string | undefined {
  if (losses !== undefined) return `taken over, ${countOf(losses, 'process', 'processes')} lost`
  return resumes === undefined ? undefined : 'resumed'
}

function countOf(count: LogFields[string] | undefined, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
