export type LogLevel = 'info' | 'warn' | 'error'

export type LogFormat = 'logfmt' | 'json' | 'fields'

export type LogValue = string | number | boolean | readonly string[]

/** The fields of a line, in addition to its message. */
export type LogFields = Readonly<Record<string, LogValue>>

interface LogLine {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

/** The arguments for the logger's method. */
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

/**
 * Names can come from users and models and contain anything. No value may end its line or look like
 * another field.
 */
function word(value: LogValue): string {
  const text = String(value)
  return /^[^\s"=\\\p{C}\p{Z}]+$/u.test(text) ? text : escaped(JSON.stringify(text))
}

/**
 * Escapes what JSON does not but some programs treat as a line end or terminal control: C1, bidi
 * controls, U+2028 …
 */
function escaped(json: string): string {
  return json.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) =>
    char
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
