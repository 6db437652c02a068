import type { Telemetry } from '../protocol/index.ts'
import type { LogFields } from '../telemetry/index.ts'
import { logs } from '../telemetry/index.ts'
import { formatDuration } from './duration.ts'
import type { Flags } from './flags.ts'
import type { LogLines } from './log-lines.ts'
import { cleanLine } from './terminal/index.ts'

/** The telemetry for `--verbose`: a line for each run of this process, and for each failure in it. */
export function verboseLogs(flags: Pick<Flags, 'verbose'>, logLines: Pick<LogLines, 'write'>): Telemetry[] {
  if (!flags.verbose) return []
  const write = (message: string, fields: LogFields = {}) => logLines.write(lineOf(message, fields))
  const { startRun } = logs({ info: write, warn: write, error: write }, { format: 'fields' })
  // Only runs: failures in the background are reported without `--verbose` too.
  return [{ startRun }]
}

function lineOf(message: string, fields: LogFields): string {
  const parts = [message, fields.agent, ...partsOf(message, fields)].filter((part) => part !== undefined)
  return cleanLine(parts.join(' · '))
}

function partsOf(message: string, fields: LogFields): (string | undefined)[] {
  const time = formatDuration(Number(fields.ms))
  switch (message) {
    case 'model call failed':
      return [
        `${fields.provider}/${fields.model}`,
        attemptText(fields),
        codeText(fields),
        time,
        retryText(fields),
      ]
    case 'tool call failed':
      return [String(fields.tool), String(fields.status), time]
    default:
      return [
        countOf(fields.rounds, 'round'),
        callText(fields),
        time,
        tokenText(fields),
        lossText(fields),
        codeText(fields),
      ]
  }
}

function attemptText({ aside, round, attempt }: LogFields): string {
  const purpose = aside ? 'summary' : `round ${round}`
  return Number(attempt) > 1 ? `${purpose}, attempt ${attempt}` : purpose
}

function retryText({ retryMs, retryModel }: LogFields): string | undefined {
  if (retryMs === undefined) return undefined
  const when = Number(retryMs) > 0 ? `retrying in ${formatDuration(Number(retryMs))}` : 'retrying now'
  return retryModel === undefined ? when : `${when} with ${retryModel}`
}

function codeText({ code, httpStatus }: LogFields): string | undefined {
  return httpStatus === undefined ? code?.toString() : `${code} (${httpStatus})`
}

function callText({ calls, failedCalls }: LogFields): string | undefined {
  if (calls === 0) return undefined
  return `${countOf(calls, 'call')}${failedCalls === undefined ? '' : `, ${failedCalls} failed`}`
}

function tokenText({ inputTokens, outputTokens, cacheReadTokens }: LogFields): string | undefined {
  // Not every provider reports usage.
  if (inputTokens === 0 && outputTokens === 0) return undefined
  const cached = cacheReadTokens === undefined ? '' : ` (${cacheReadTokens} cached)`
  return `${inputTokens}${cached} → ${outputTokens} tokens`
}

function lossText({ resumes, losses }: LogFields): string | undefined {
  if (losses !== undefined) return `taken over after ${countOf(losses, 'lost process', 'lost processes')}`
  return resumes === undefined ? undefined : 'resumed'
}

function countOf(count: LogFields[string] | undefined, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
