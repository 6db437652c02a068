import { z } from 'zod'
import { tool } from '../tools/index.ts'
import type { LogFields, LogLevel, LogsOptions } from './index.ts'
import { logs } from './index.ts'

interface Told {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

/** Logs that keep what they are told, as fields. */
export function keptLogs(options: LogsOptions = {}) {
  const told: Told[] = []
  const keep =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      void told.push({ level, message, fields })
  const logger = { info: keep('info'), warn: keep('warn'), error: keep('error') }
  return {
    told,
    telemetry: logs(logger, { format: 'fields', ...options }),
    /** Those with these words. */
    of: (message: string) => told.filter((line) => line.message === message).map(({ fields }) => fields),
  }
}

/** The same as lines of text. */
export function keptLines(options: LogsOptions = {}) {
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

/** Asks a person first. */
export const careful = tool({
  name: 'careful',
  description: 'Works, once it may',
  input: z.object({}),
  approve: true,
  run: () => 'done',
})
