import type { OptionTable, Telemetry } from '../protocol/index.ts'
import { checkOptions, invalidInput, isObject, kindOf, oneOf, yesOrNo } from '../protocol/index.ts'
import { errorFields } from './logs/fields.ts'
import type { LogFields, LogFormat, LogLevel } from './logs/line.ts'
import { argumentsOf } from './logs/line.ts'
import { logRun } from './logs/run.ts'

/** The methods that `console` and most loggers have. */
export interface Logger {
  info(message: string, fields?: LogFields): unknown
  warn(message: string, fields?: LogFields): unknown
  error(message: string, fields?: LogFields): unknown
}

export interface LogsOptions {
  /**
   * `logfmt` (default): one line of text. `json`: one line of JSON. `fields`: the message, and an
   * object as second argument.
   */
  readonly format?: LogFormat | undefined
  /** Include error messages, which may quote the conversation. Default: false. */
  readonly content?: boolean | undefined
}

const levels: readonly LogLevel[] = ['info', 'warn', 'error']

const table: OptionTable<LogsOptions> = { format: oneOf('logfmt', 'json', 'fields'), content: yesOrNo }

/**
 * Logs runs: one line when a run ends, and one for each failure on the way. Pass the result to
 * `agent({ telemetry })` or `millrace({ telemetry })`; it can be shared. Neither the conversation
 * nor API keys are logged. Throws `invalid_input` on an invalid logger or invalid options.
 * Exceptions of the logger are swallowed.
 */
export function logs(logger: Logger, options: LogsOptions = {}): Telemetry {
  const op = 'logs'
  checkLogger(logger, op)
  if (!isObject(options as unknown))
    throw invalidInput(op, `logs() expects an object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: 'the option' })
  const { format = 'logfmt', content = false } = options

  function log(level: LogLevel, message: string, fields: LogFields) {
    // A logger that fails once must not prevent later lines.
    try {
      const result = logger[level](...argumentsOf(format, { level, message, fields }))
      Promise.resolve(result).catch(() => {})
    } catch {}
  }

  return {
    startRun: (run) => logRun(run, { log, content }),
    openApp: () => ({
      flushed() {},
      failed: (error) => log('error', 'background failure', errorFields(error, content)),
      closed() {},
    }),
  }
}

function checkLogger(logger: unknown, op: string): void {
  const given = Object(logger) as Record<string, unknown>
  const missing = levels.find((level) => typeof given[level] !== 'function')
  if (missing === undefined) return
  const problem = logger === Object(logger) ? `this one has no ${missing}()` : `not ${kindOf(logger)}`
  throw invalidInput(
    op,
    `logs() expects a logger with info(), warn() and error(), such as console: ${problem}`,
  )
}
