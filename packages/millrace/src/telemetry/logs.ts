import type { OptionTable, Telemetry } from '../protocol/index.ts'
import { checkOptions, invalidInput, isObject, kindOf, oneOf, yesOrNo } from '../protocol/index.ts'
import { errorFields } from './logs/fields.ts'
import type { LogFields, LogFormat, LogLevel } from './logs/line.ts'
import { argumentsOf } from './logs/line.ts'
import { beginRun } from './logs/run.ts'

/** What `console` has, and most loggers. */
export interface Logger {
  info(message: string, fields?: LogFields): unknown
  warn(message: string, fields?: LogFields): unknown
  error(message: string, fields?: LogFields): unknown
}

export interface LogsOptions {
  /** `logfmt` if absent: all in one line of text. `json`: the same as JSON. `fields`: words, and an object beside them. */
  readonly format?: LogFormat | undefined
  /** Tells the words of errors too, which may quote what was said. Not so if absent. */
  readonly content?: boolean | undefined
}

const levels: readonly LogLevel[] = ['info', 'warn', 'error']

const table: OptionTable<LogsOptions> = { format: oneOf('logfmt', 'json', 'fields'), content: yesOrNo }

/**
 * Tells a logger of runs, a line for each when it is over and one for whatever goes wrong on the way: hand it to
 * `agent({ telemetry })` or `millrace({ telemetry })`. It may be handed to several. Nothing of what was said is told, nor any key.
 * Throws `invalid_input` on what is no logger, and on bad options. What the logger itself throws is dropped.
 */
export function logs(logger: Logger, options: LogsOptions = {}): Telemetry {
  const op = 'logs'
  checkLogger(logger, op)
  if (!isObject(options as unknown))
    throw invalidInput(op, `logs() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: 'the option' })
  const { format = 'logfmt', content = false } = options

  function tell(level: LogLevel, message: string, fields: LogFields) {
    // One line that fails keeps none of the others back.
    try {
      const told = logger[level](...argumentsOf(format, { level, message, fields }))
      Promise.resolve(told).catch(() => {})
    } catch {}
  }

  return {
    begin: (run) => beginRun(run, { tell, content }),
    open: () => ({
      flushed() {},
      failed: (error) => tell('error', 'background failure', errorFields(error, content)),
      closed() {},
    }),
  }
}

function checkLogger(logger: unknown, op: string): void {
  const given = Object(logger) as Record<string, unknown>
  const missing = levels.find((level) => typeof given[level] !== 'function')
  if (missing === undefined) return
  const problem = logger === Object(logger) ? `this one has no ${missing}()` : `not ${kindOf(logger)}`
  throw invalidInput(op, `logs() takes a logger with info(), warn() and error(), such as console: ${problem}`)
}
