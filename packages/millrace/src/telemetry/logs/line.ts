export type LogLevel = 'info' | 'warn' | 'error'

export type LogFormat = 'logfmt' | 'json' | 'fields'

export type LogValue = string | number | boolean | readonly string[]

/** What a line tells beside its words. */
export type LogFields = Readonly<Record<string, LogValue>>

interface LogLine {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

/** What a logger is called with. */
export function argumentsOf(format: LogFormat, { level, message, fields }: LogLine): [string, LogFields?] {
  switch (format) {
    case 'fields':
      return [message, fields]
    case 'json':
      return [escaped(JSON.stringify({ level, message, ...fields }))]
    case 'logfmt':
      return [[message, ...Object.entries(fields).map(([name, value]) => `${name}=${word(value)}`)].join(' ')]
  }
}

/** Names come from people and from models, and one that a model has made up may contain anything: no value ends its line. */
function word(value: LogValue): string {
  const text = String(value)
  return /^[^\s"=\\\p{C}\p{Z}]+$/u.test(text) ? text : escaped(JSON.stringify(text))
}

/** JSON leaves alone what some take for the end of a line, or for an order to their terminal: C1, bidi controls, U+2028 … */
function escaped(json: string): string {
  return json.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) =>
    char
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
