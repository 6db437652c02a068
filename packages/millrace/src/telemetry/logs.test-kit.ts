import { z } from 'zod'
import { tool } from '../tools/index.ts'
import type { LogFields, LogLevel, LogsOptions } from './index.ts'
import { logs } from './index.ts'

interface LoggedLine {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

/** Telemetry that records what `logs()` writes, as fields. */
export function recordedLogs(options: LogsOptions = {}) {
  const lines: LoggedLine[] = []
  const record =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields })
  const logger = { info: record('info'), warn: record('warn'), error: record('error') }
  return {
    lines,
    telemetry: logs(logger, { format: 'fields', ...options }),
    /** The fields of all lines with this message. */
    of: (message: string) => lines.filter((line) => line.message === message).map(({ fields }) => fields),
  }
}

/** The same, as lines of text. */
export function recordedLines(options: LogsOptions = {}) {
  const lines: string[] = []
  const keep = (...args: unknown[]) => void lines.push(args.join('|'))
  return { lines, telemetry: logs({ info: keep, warn: keep, error: keep }, options) }
}

export const works = tool({ name: 'works', description: 'Works', input: z.object({}), run: () => 'done' })

export const fails = tool({
  name: 'fails',
  description: 'Fails',
  input: z.object({}),
  run() {
    throw new Error('the secret of the tool')
  },
})

export const needsApproval = tool({
  name: 'careful',
  description: 'Works, once it is approved',
  input: z.object({}),
  approve: true,
  run: () => 'done',
})
